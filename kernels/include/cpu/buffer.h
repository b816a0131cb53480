// Memory allocation without exceptions, so that a library needs no C++ runtime on the target
// machine.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <type_traits>

namespace styleforge {

// `size` zeroed elements, freed with the buffer. Converts to false if the allocation failed.
template <typename T>
class Buffer {
    static_assert(std::is_trivially_copyable<T>::value, "elements are neither made nor destroyed");

 public:
    explicit Buffer(int64_t size)
        : data_(static_cast<T*>(std::calloc(static_cast<size_t>(size + 1), sizeof(T)))) {}
    ~Buffer() { std::free(data_); }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;

    explicit operator bool() const { return data_ != nullptr; }
    T& operator[](int64_t i) { return data_[i]; }
    const T& operator[](int64_t i) const { return data_[i]; }

 private:
    T* data_;
};

}  // namespace styleforge
