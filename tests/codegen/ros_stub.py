"""Just enough of ROS 2, Eigen and the base class to compile and run a generated plugin where they are not installed."""

from __future__ import annotations

from pathlib import Path

FILES = {
    "include/Eigen/Core": """
#pragma once
#include <cstddef>
#include <vector>
namespace Eigen
{
using Index = std::ptrdiff_t;
class VectorXd
{
public:
  explicit VectorXd(Index n) : values_(static_cast<std::size_t>(n)) {}
  Index size() const { return static_cast<Index>(values_.size()); }
  const double * data() const { return values_.data(); }
  double * data() { return values_.data(); }
private:
  std::vector<double> values_;
};
class MatrixXd
{
public:
  MatrixXd(Index rows, Index columns) : values_(static_cast<std::size_t>(rows * columns)) {}
  Index size() const { return static_cast<Index>(values_.size()); }
  const double * data() const { return values_.data(); }
  double * data() { return values_.data(); }
private:
  std::vector<double> values_;
};
}
""",
    "include/rclcpp/parameter.hpp": """
#pragma once
#include <vector>
namespace rclcpp
{
class Parameter
{
public:
  std::vector<double> values;
  std::vector<double> as_double_array() const { return values; }
};
}
""",
    "include/rclcpp/node_interfaces/node_parameters_interface.hpp": """
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>
namespace rclcpp
{
class Parameter;
namespace node_interfaces
{
class NodeParametersInterface
{
public:
  using ConstSharedPtr = std::shared_ptr<const NodeParametersInterface>;
  virtual ~NodeParametersInterface() = default;
  virtual bool get_parameter(const std::string & name, rclcpp::Parameter & parameter) const = 0;
};
}
}
""",
    "include/pluginlib/class_list_macros.hpp": """
#pragma once
#define PLUGINLIB_EXPORT_CLASS(derived, base) \\
  extern "C" base * make_plugin(); \\
  extern "C" base * make_plugin() { return new derived(); }
""",
    "include/inverse_dynamics_solver/inverse_dynamics_solver.hpp": """
#pragma once
#include <string>
#include <Eigen/Core>
#include <rclcpp/node_interfaces/node_parameters_interface.hpp>
namespace inverse_dynamics_solver
{
class InverseDynamicsSolver
{
public:
  using Vector = const Eigen::VectorXd &;
  virtual ~InverseDynamicsSolver() = default;
  virtual void initialize(
    rclcpp::node_interfaces::NodeParametersInterface::ConstSharedPtr = nullptr,
    const std::string & = "", const std::string & = "") = 0;
  virtual Eigen::MatrixXd getInertiaMatrix(Vector) const = 0;
  virtual Eigen::VectorXd getCoriolisVector(Vector, Vector) const = 0;
  virtual Eigen::VectorXd getGravityVector(Vector) const = 0;
  virtual Eigen::VectorXd getFrictionVector(Vector) const = 0;
  virtual Eigen::VectorXd getTorques(Vector, Vector, Vector) const = 0;
protected:
  InverseDynamicsSolver() = default;
};
}
""",
    # reads: number of parameters, each with name, size, values; joints, samples; q, qd, qdd of every sample
    "main.cpp": """
#include <cstdio>
#include <exception>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>
#include <inverse_dynamics_solver/inverse_dynamics_solver.hpp>
#include <rclcpp/parameter.hpp>

extern "C" inverse_dynamics_solver::InverseDynamicsSolver * make_plugin();

struct Given : rclcpp::node_interfaces::NodeParametersInterface
{
  std::map<std::string, std::vector<double>> table;
  bool get_parameter(const std::string & name, rclcpp::Parameter & parameter) const override
  {
    const auto found = table.find(name);
    if (found == table.end()) {return false;}
    parameter.values = found->second;
    return true;
  }
};

template<typename T>
void show(const T & values)
{
  for (Eigen::Index k = 0; k < values.size(); ++k) {std::printf("%.17g ", values.data()[k]);}
}

Eigen::VectorXd vector(int n)
{
  Eigen::VectorXd v(n);
  for (int k = 0; k < n; ++k) {std::cin >> v.data()[k];}
  return v;
}

int main()
{
  const std::unique_ptr<inverse_dynamics_solver::InverseDynamicsSolver> solver(make_plugin());
  const auto given = std::make_shared<Given>();
  int count, n, samples;
  std::cin >> count;
  for (int k = 0; k < count; ++k) {
    std::string name;
    int size;
    std::cin >> name >> size;
    for (double value; size > 0 && std::cin >> value; --size) {given->table["arm." + name].push_back(value);}
  }
  std::cin >> n >> samples;
  try {
    if (count >= 0) {solver->initialize(given, "arm");}
    for (int k = 0; k < samples; ++k) {
      const Eigen::VectorXd q = vector(n), qd = vector(n), qdd = vector(n);
      show(solver->getInertiaMatrix(q));
      show(solver->getCoriolisVector(q, qd));
      show(solver->getGravityVector(q));
      show(solver->getFrictionVector(qd));
      show(solver->getTorques(q, qd, qdd));
      std::printf("\\n");
    }
  } catch (const std::exception & error) {
    std::printf("%s\\n", error.what());
  }
  return 0;
}
""",
    "cmake/ament_cmake/ament_cmakeConfig.cmake": "macro(ament_package)\nendmacro()\n",
    "cmake/Eigen3/Eigen3Config.cmake": "add_library(Eigen3::Eigen INTERFACE IMPORTED)\n",
    "cmake/rclcpp/rclcppConfig.cmake": "add_library(rclcpp::rclcpp INTERFACE IMPORTED)\n",
    "cmake/pluginlib/pluginlibConfig.cmake": """
add_library(pluginlib::pluginlib INTERFACE IMPORTED)
function(pluginlib_export_plugin_description_file base file)
  if(NOT base STREQUAL "inverse_dynamics_solver" OR NOT EXISTS "${CMAKE_CURRENT_SOURCE_DIR}/${file}")
    message(FATAL_ERROR "no ${file} for ${base}")
  endif()
endfunction()
""",
    "cmake/inverse_dynamics_solver/inverse_dynamics_solverConfig.cmake": """
set(inverse_dynamics_solver_INCLUDE_DIRS "${CMAKE_CURRENT_LIST_DIR}/../../include")
""",
}


def write_stub(folder: Path) -> Path:
    """The stub's headers, its program and its CMake packages in a folder."""
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.lstrip("\n"))
    return folder
