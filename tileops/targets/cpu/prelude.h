// Included before the generated code: 16- and 8-bit floats, and what the C backend does not provide.
#pragma once
#include <math.h>
#include <stdint.h>
#include <string.h>
namespace half_float { typedef uint16_t half; }
static inline float tl_bits(uint32_t u) { float f; memcpy(&f, &u, 4); return f; }
static inline uint32_t tl_word(float f) { uint32_t u; memcpy(&u, &f, 4); return u; }
// M mantissa bits, exponent bias BIAS, largest code TOP, code of NaN, storage type S.
template <int M, int BIAS, uint32_t TOP, uint32_t NANC, class S> static inline S tl_narrow(float x) {
  const uint32_t w = tl_word(x), u = w & 0x7fffffffu, low = (128u - BIAS) << 23;
  const float a = u < low ? tl_bits(u) : 0.0f;
  const uint32_t sub = (uint32_t)(int32_t)rintf(a * (float)(1 << (BIAS - 1 + M)));
  const uint32_t nrm = ((u + ((1u << (22 - M)) - 1) + ((u >> (23 - M)) & 1)) >> (23 - M)) - ((127u - BIAS) << M);
  uint32_t c = u < low ? sub : nrm;
  c = c > TOP ? TOP : c;
  c = u > 0x7f800000u ? NANC : c;
  return (S)(((w >> 31) << (8 * sizeof(S) - 1)) | c);
}
template <int M, int BIAS, uint32_t INFC, class S> static inline float tl_widen(S v) {
  const uint32_t sign = 1u << (8 * sizeof(S) - 1), c = v & (sign - 1);
  uint32_t u = tl_word(tl_bits(c << (23 - M)) * tl_bits((254u - BIAS) << 23));
  u |= c >= INFC ? 0x7f800000u | (c > INFC || M == 3 ? 0x400000u : 0u) : 0u;
  return tl_bits(u | ((uint32_t)(v & sign) << (32 - 8 * sizeof(S))));
}
extern "C" {  // the generated code declares these again with C linkage
inline uint16_t tl_to_f16(float x) { return tl_narrow<10, 15, 0x7c00, 0x7e00, uint16_t>(x); }
inline uint8_t tl_to_e4m3(float x) { return tl_narrow<3, 7, 0x7e, 0x7f, uint8_t>(x); }
inline uint8_t tl_to_e5m2(float x) { return tl_narrow<2, 15, 0x7b, 0x7f, uint8_t>(x); }
inline uint16_t tl_to_bf16(float x) {
  const uint32_t u = tl_word(x);
  return (u & 0x7fffffffu) > 0x7f800000u ? 0x7fc0 : (uint16_t)((u + 0x7fffu + ((u >> 16) & 1)) >> 16);
}
inline float tl_from_f16(uint16_t v) { return tl_widen<10, 15, 0x7c00, uint16_t>(v); }
inline float tl_from_e4m3(uint8_t v) { return tl_widen<3, 7, 0x7f, uint8_t>(v); }
inline float tl_from_e5m2(uint8_t v) { return tl_widen<2, 15, 0x7c, uint8_t>(v); }
inline float tl_from_bf16(uint16_t v) { return tl_bits((uint32_t)v << 16); }
// Maximum and minimum as the GPU has them: a NaN loses, or wins in the _nan forms.
#define TL_MINMAX(T, S) \
  inline T tl_max_##S(T a, T b) { return a > b || b != b ? a : b; } \
  inline T tl_min_##S(T a, T b) { return a < b || b != b ? a : b; } \
  inline T tl_max_nan_##S(T a, T b) { return a > b || a != a ? a : b; } \
  inline T tl_min_nan_##S(T a, T b) { return a < b || a != a ? a : b; }
TL_MINMAX(float, float32)
TL_MINMAX(double, float64)
inline float tl_constant_float32(uint32_t u) { return tl_bits(u); }
inline double tl_constant_float64(uint64_t u) { double f; memcpy(&f, &u, 8); return f; }
inline int32_t tl_popcount(uint64_t v) { return __builtin_popcountll(v); }
inline int32_t tl_clz(uint64_t v, int32_t bits) { return v ? __builtin_clzll(v) - (64 - bits) : bits; }
inline bool tl_any_of(bool* p, int32_t n) { for (int i = 0; i < n; ++i) if (p[i]) return true; return false; }
inline bool tl_all_of(bool* p, int32_t n) { for (int i = 0; i < n; ++i) if (!p[i]) return false; return true; }
// T.device_assert: the launcher asks after the call, on the same thread.
static thread_local int32_t tl_failed = 0;
inline int32_t tl_check(bool ok) { if (!ok) tl_failed = 1; return 0; }
int32_t tl_take_failed() { const int32_t failed = tl_failed; tl_failed = 0; return failed; }
}
