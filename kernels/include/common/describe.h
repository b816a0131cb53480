// Writes a library's description as JSON, in plain C++.
#pragma once

#include <stddef.h>

#include <initializer_list>
#include <string>
#include <utility>

namespace styleforge {

using Members = std::initializer_list<std::pair<const char*, std::string>>;

inline std::string number(long long value) { return std::to_string(value); }

inline std::string quoted(const char* text) { return "\"" + std::string(text) + "\""; }

// Omits members without a value.
inline std::string object(Members members) {
    std::string text;
    for (const auto& [name, value] : members)
        if (!value.empty()) text += (text.empty() ? "" : ", ") + quoted(name) + ": " + value;
    return "{" + text + "}";
}

inline std::string layout(size_t size, Members offsets) {
    return object({{"size", number(size)}, {"offsets", object(offsets)}});
}

// Returns the C++ name of kernel template `name` instantiated with these arguments.
inline std::string kernel(const std::string& name, std::initializer_list<std::string> arguments) {
    std::string text;
    for (const std::string& each : arguments) text += (text.empty() ? "" : ", ") + each;
    return quoted((name + "<" + text + ">").c_str());
}

#define OFFSET(type, field) {#field, number(offsetof(type, field))}

}  // namespace styleforge
