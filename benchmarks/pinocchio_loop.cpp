// Pinocchio's own C++ behind a C signature, so that loops over samples are timed without Python.
// The model is a text: n, then per joint the parent (-1: ground), kind (0 turns, 1 slides), placement R (row-major) and p,
// then mass, centre of mass and inertia about it (xx xy xz yy yz zz).
#include <pinocchio/multibody.hpp>
#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/crba.hpp>
#include <pinocchio/algorithm/regressor.hpp>
#include <pinocchio/algorithm/rnea-derivatives.hpp>
#include <pinocchio/algorithm/rnea.hpp>
#include <sstream>
#include <string>
#include <vector>
using namespace pinocchio;

struct Peer {
    Model model;
    Data *data;
};

extern "C" void *peer_open(const char *text) {
    std::istringstream in(text);
    int n;
    in >> n;
    Peer *peer = new Peer;
    std::vector<JointIndex> ids;
    for (int j = 0; j < n; j++) {
        int parent, kind;
        double m, i[6];
        Eigen::Matrix3d R, I;
        Eigen::Vector3d p, c;
        in >> parent >> kind;
        for (int k = 0; k < 9; k++) in >> R(k / 3, k % 3);
        for (int k = 0; k < 3; k++) in >> p[k];
        in >> m;
        for (int k = 0; k < 3; k++) in >> c[k];
        for (double &v : i) in >> v;
        I << i[0], i[1], i[2], i[1], i[3], i[4], i[2], i[4], i[5];
        JointIndex at = parent < 0 ? 0 : ids[parent];
        std::string name = "j" + std::to_string(j);
        JointIndex id = kind ? peer->model.addJoint(at, JointModelPZ(), SE3(R, p), name)
                             : peer->model.addJoint(at, JointModelRZ(), SE3(R, p), name);
        peer->model.appendBodyToJoint(id, Inertia(m, c, I), SE3::Identity());
        ids.push_back(id);
    }
    double g[3];
    for (double &v : g) in >> v;
    peer->model.gravity.linear(Eigen::Vector3d(g[0], g[1], g[2]));
    peer->data = new Data(peer->model);
    return peer;
}

// Calls f with positions, velocities and accelerations (or efforts) of every sample, copied into vectors made once.
template <class F>
static void each_sample(void *handle, long samples, const double *q, const double *qd, const double *third, F f) {
    Peer *peer = static_cast<Peer *>(handle);
    const int n = peer->model.nv;
    Eigen::VectorXd x(n), v(n), a(n);
    for (long s = 0; s < samples; s++) {
        x = Eigen::Map<const Eigen::VectorXd>(q + s * n, n);
        v = Eigen::Map<const Eigen::VectorXd>(qd + s * n, n);
        a = Eigen::Map<const Eigen::VectorXd>(third + s * n, n);
        f(*peer, s, n, x, v, a);
    }
}

using Vector = Eigen::VectorXd;

extern "C" void peer_rnea(void *handle, long samples, const double *q, const double *qd, const double *qdd, double *tau) {
    each_sample(handle, samples, q, qd, qdd, [&](Peer &peer, long s, int n, const Vector &x, const Vector &v, const Vector &a) {
        rnea(peer.model, *peer.data, x, v, a);
        Eigen::Map<Vector>(tau + s * n, n) = peer.data->tau;
    });
}

extern "C" double peer_regressor(void *handle, long samples, const double *q, const double *qd, const double *qdd) {
    double sink = 0;
    each_sample(handle, samples, q, qd, qdd, [&](Peer &peer, long, int, const Vector &x, const Vector &v, const Vector &a) {
        computeJointTorqueRegressor(peer.model, *peer.data, x, v, a);
        sink += peer.data->jointTorqueRegressor(0, 0);
    });
    return sink;
}

using Rows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// The mass matrix; Pinocchio fills the upper triangle, and so does this.
extern "C" void peer_mass_matrix(void *handle, long samples, const double *q, double *M) {
    Peer *peer = static_cast<Peer *>(handle);
    const int n = peer->model.nv;
    Eigen::VectorXd x(n);
    for (long s = 0; s < samples; s++) {
        x = Eigen::Map<const Eigen::VectorXd>(q + s * n, n);
        crba(peer->model, *peer->data, x);
        Eigen::Map<Rows>(M + s * n * n, n, n) = peer->data->M;
    }
}

extern "C" void peer_forward_dynamics(void *handle, long samples, const double *q, const double *qd, const double *tau,
                                      double *qdd) {
    each_sample(handle, samples, q, qd, tau, [&](Peer &peer, long s, int n, const Vector &x, const Vector &v, const Vector &f) {
        aba(peer.model, *peer.data, x, v, f);
        Eigen::Map<Vector>(qdd + s * n, n) = peer.data->ddq;
    });
}

// d tau / d q and d tau / d qd.
extern "C" void peer_derivatives(void *handle, long samples, const double *q, const double *qd, const double *qdd,
                                 double *dq, double *dqd) {
    each_sample(handle, samples, q, qd, qdd, [&](Peer &peer, long s, int n, const Vector &x, const Vector &v, const Vector &a) {
        computeRNEADerivatives(peer.model, *peer.data, x, v, a);
        Eigen::Map<Rows>(dq + s * n * n, n, n) = peer.data->dtau_dq;
        Eigen::Map<Rows>(dqd + s * n * n, n, n) = peer.data->dtau_dv;
    });
}

extern "C" void peer_coriolis_matrix(void *handle, long samples, const double *q, const double *qd, double *C) {
    Peer *peer = static_cast<Peer *>(handle);
    const int n = peer->model.nv;
    Eigen::VectorXd x(n), v(n);
    for (long s = 0; s < samples; s++) {
        x = Eigen::Map<const Eigen::VectorXd>(q + s * n, n);
        v = Eigen::Map<const Eigen::VectorXd>(qd + s * n, n);
        computeCoriolisMatrix(peer->model, *peer->data, x, v);
        Eigen::Map<Rows>(C + s * n * n, n, n) = peer->data->C;
    }
}
