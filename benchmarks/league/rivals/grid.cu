// Rates of GRiD's kernels for one robot: nvcc -I FOLDER_OF_grid.cuh.  Prints one JSON line.
// One block a sample, and the threads that its generator suggests or fewer, whichever is faster; the best batch counts.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>
#include "grid.cuh"

constexpr int BATCHES[] = {1 << 12, 1 << 14, 1 << 16, 1 << 18};
constexpr int LARGEST = 1 << 18, N = grid::NUM_JOINTS, REPEATS = 9, CHECKED = 8;

template <typename Call> double seconds(Call call) {
    cudaEvent_t start, stop;
    cudaEventCreate(&start);
    cudaEventCreate(&stop);
    call();
    std::vector<float> times;
    for (int k = 0; k < REPEATS; ++k) {
        float ms = 0;
        cudaEventRecord(start);
        call();
        cudaEventRecord(stop);
        cudaEventSynchronize(stop);
        cudaEventElapsedTime(&ms, start, stop);
        times.push_back(ms);
    }
    std::sort(times.begin(), times.end());
    return times[REPEATS / 2] / 1e3;
}

template <typename Call> double best_rate(int suggested, Call call) {
    double best = 0;
    for (int threads : {32, 64, 96, suggested})
        for (int batch : BATCHES) {
            double rate = batch / seconds([&] { call(batch, dim3(threads)); });
            best = rate > best ? rate : best;
        }
    return best;
}

template <typename T> void measure(const char *precision, bool last) {
    auto *model = grid::init_robotModel<T>();
    grid::init_grid_kernel_attrs<T>();
    auto *data = grid::init_gridData<T, LARGEST>();
    const T gravity = T(-9.81);  // along z, signed
    std::vector<T> state(3 * N * (size_t)LARGEST), qdd(N * (size_t)LARGEST);
    srand(1);
    for (auto &x : state) x = T(2.0 * rand() / RAND_MAX - 1.0);
    for (auto &x : qdd) x = T(2.0 * rand() / RAND_MAX - 1.0);
    cudaMemcpy(data->d_q_qd_u, state.data(), state.size() * sizeof(T), cudaMemcpyHostToDevice);
    auto accelerations = [&] { cudaMemcpy(data->d_qdd, qdd.data(), qdd.size() * sizeof(T), cudaMemcpyHostToDevice); };
    accelerations();
    printf("\"%s\": {", precision);
    printf("\"inverse dynamics\": %.6g, ", best_rate(grid::INVERSE_DYNAMICS_SUGGESTED_THREADS, [&](int n, dim3 threads) {
        grid::inverse_dynamics_compute_only<T, true, false>(data, model, gravity, n, dim3(n), threads);
    }));
    std::vector<T> torques(N * CHECKED);
    cudaMemcpy(torques.data(), data->d_c, torques.size() * sizeof(T), cudaMemcpyDeviceToHost);
    printf("\"inverse dynamics derivatives\": %.6g, ",
           best_rate(grid::INVERSE_DYNAMICS_GRADIENT_SUGGESTED_THREADS, [&](int n, dim3 threads) {
               grid::inverse_dynamics_gradient_compute_only<T, true, false>(data, model, gravity, n, dim3(n), threads);
           }));
    printf("\"forward dynamics\": %.6g, ", best_rate(grid::FORWARD_DYNAMICS_SUGGESTED_THREADS, [&](int n, dim3 threads) {
        grid::forward_dynamics_compute_only<T>(data, model, gravity, n, dim3(n), threads);
    }));
    printf("\"forward dynamics derivatives\": %.6g, ",
           best_rate(grid::FORWARD_DYNAMICS_GRADIENT_SUGGESTED_THREADS, [&](int n, dim3 threads) {
               grid::forward_dynamics_gradient_compute_only<T, false>(data, model, gravity, n, dim3(n), threads);
           }));
    auto print = [](const char *name, const T *x, int count, const char *after) {
        printf("\"%s\": [", name);
        for (int i = 0; i < count; ++i) printf("%s%.17g", i ? ", " : "", (double)x[i]);
        printf("]%s", after);
    };
    print("state", state.data(), 3 * N * CHECKED, ", ");
    print("qdd", qdd.data(), N * CHECKED, ", ");
    print("torques", torques.data(), N * CHECKED, "}");
    if (!last) printf(", ");
}

int main() {
    printf("{");
    measure<double>("double", false);
    measure<float>("float", true);
    printf("}\n");
    return cudaDeviceSynchronize() == cudaSuccess ? 0 : 1;
}
