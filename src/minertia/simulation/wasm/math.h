/* For code that runs in a browser: what the processor has is computed there, the rest is asked of the page. */
#ifndef MINERTIA_WASM_MATH_H
#define MINERTIA_WASM_MATH_H
#define sqrt __builtin_sqrt
#define fabs __builtin_fabs
#define floor __builtin_floor
#define copysign __builtin_copysign
#define M_PI 3.14159265358979323846
double sin(double x);
double cos(double x);
double tan(double x);
double asin(double x);
double acos(double x);
double atan(double x);
double atan2(double y, double x);
double exp(double x);
double log(double x);
double pow(double x, double y);
double tanh(double x);
#endif
