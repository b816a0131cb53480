// The numbering of element types in the kernels' structs.
#pragma once

namespace styleforge {

enum DataType { kFloat = 0, kHalf = 1, kBFloat16 = 2 };

}  // namespace styleforge
