// The proximal l0 iteration on the support, one block per sample, its Gram matrix in shared memory.
//
// With A the support's rows of X, G = A A^T, b = A x and q = b - G z, one step is v = z + (2/L) q; then entries with
// |v| < sqrt(2 penalty / L) become zero, and what is zero stays so. Thread i has member i. All arithmetic is float64.
//
// The last row of X is zero: it pads the supports. Compiled with SAMPLE, the type of X, and WIDTH, the padded width, a
// multiple of 32 and the number of threads.

#define CHUNK 16
#define PITCH (CHUNK + 1)

// The sum of one number per thread, in an order that does not depend on anything; everybody gets it.
static __device__ double sum_of(double value, double* scratch) {
    const int i = threadIdx.x;
    scratch[i] = value;
    __syncthreads();
    for (int half = WIDTH / 2, size = WIDTH; size > 1; size = half, half = (size + 1) / 2) {
        const double other = (i < size - half) ? scratch[i + half] : 0.0;
        __syncthreads();
        if (i < half) scratch[i] += other;
        __syncthreads();
    }
    const double total = scratch[0];
    __syncthreads();
    return total;
}

extern "C" __global__ void __launch_bounds__(WIDTH)
proximal(const SAMPLE* __restrict__ X, const SAMPLE* __restrict__ targets, const long long* __restrict__ members,
         const double* __restrict__ constants, const double* __restrict__ L_of, int d, int n_steps, double* codes,
         double* objectives, int* opened) {
    // constants: the penalty, and what a squared residual over L must reach for an atom to enter.
    const double penalty = constants[0], reach = constants[1];
    const int i = threadIdx.x;
    const long long row = blockIdx.x;
    extern __shared__ double shared[];
    double* G = shared;                  // WIDTH x WIDTH, symmetric
    double* z = G + WIDTH * WIDTH;       // WIDTH
    double* scratch = z + WIDTH;         // WIDTH
    double* part = scratch + WIDTH;      // WIDTH x PITCH, some features of the members
    double* x = part + WIDTH * PITCH;    // CHUNK, those of the target

    for (int p = i; p < WIDTH * WIDTH; p += WIDTH) G[p] = 0.0;
    double b = 0.0, square = 0.0;
    const long long* ids = members + row * WIDTH;
    for (int first = 0; first < d; first += CHUNK) {
        __syncthreads();
        for (int p = i; p < WIDTH * CHUNK; p += WIDTH) {
            const int t = first + p % CHUNK;
            part[(p / CHUNK) * PITCH + p % CHUNK] = t < d ? (double)X[ids[p / CHUNK] * d + t] : 0.0;
        }
        if (i < CHUNK) x[i] = first + i < d ? (double)targets[row * d + first + i] : 0.0;
        __syncthreads();
        double own[CHUNK];
        for (int t = 0; t < CHUNK; t++) {
            own[t] = part[i * PITCH + t];
            b += own[t] * x[t];
        }
        if (i < CHUNK) square += x[i] * x[i];
        for (int j = 0; j < WIDTH; j++) {  // column i: neighbours in the warp write neighbouring places
            double total = 0.0;
            for (int t = 0; t < CHUNK; t++) total += part[j * PITCH + t] * own[t];
            G[j * WIDTH + i] += total;
        }
    }
    const double xx = sum_of(square, scratch);
    const double L = L_of[row];
    const double step = 2.0 / L, threshold = sqrt(2.0 * penalty / L);
    double code = codes[row * WIDTH + i];
    bool reached = false;
    for (int s = 0; s <= n_steps; s++) {
        z[i] = code;
        __syncthreads();
        double q = b;
        for (int j = 0; j < WIDTH; j++) q -= G[j * WIDTH + i] * z[j];
        const double fit = sum_of(code * (b + q), scratch);
        const double count = sum_of(code != 0.0 ? 1.0 : 0.0, scratch);
        const double rr = xx > fit ? xx - fit : 0.0;
        if (i == 0) objectives[row * (n_steps + 1) + s] = rr + penalty * count;
        if (s == n_steps) break;
        reached = reached || rr >= reach * L;
        const double v = code + step * q;
        code = (code != 0.0 && fabs(v) >= threshold) ? v : 0.0;
    }
    codes[row * WIDTH + i] = code;
    if (i == 0) opened[row] = reached;
}
