/** `yaoki/sim`: the same policies in virtual time, against simulated services. Runs anywhere. */
export type { Incident } from './incident/incident.ts'
export { type IncidentOptions, scenarioFromIncident } from './incident/reader.ts'
export { type IncidentReplay, replayIncident } from './incident/replay.ts'
export type { Distribution } from './kernel/distribution.ts'
export { type LoadCurveFromCsvOptions, loadCurveFromCsv } from './load/csv.ts'
export type { LoadCurve } from './load/load-curve.ts'
export { type LoadCurveFromPrometheusOptions, loadCurveFromPrometheus } from './load/prometheus.ts'
export type { MeasureName } from './measure/measures.ts'
export type { ComparisonResult, Replications } from './measure/replications.ts'
export type { ClientResult, ServiceResult, SimulationResult } from './measure/result.ts'
export { expectResilience, ResilienceError, type ResilienceExpectation } from './run/expect.ts'
export { compare, type ReplicateOptions, replicate } from './run/replicate.ts'
export { Simulation, simulate } from './run/simulation.ts'
export type { GridStudy, Study, VariantStudy } from './run/study.ts'
export type { Arrivals } from './scenario/arrivals-model.ts'
export type { BudgetModel, PolicyLayer, PolicyModel } from './scenario/layers.ts'
export type {
	ClientModel,
	DependencyModel,
	Fault,
	Scenario,
	ServerModel,
	ServiceModel,
} from './scenario/scenario.ts'
export { policyToTypeScript } from './scenario/source.ts'
export { scenarios } from './scenarios/catalog.ts'
export { applyChanges, type TuneChange } from './tune/changes.ts'
export type { TuneOptions } from './tune/options.ts'
export { tune } from './tune/tune.ts'
export type { TuneResult } from './tune/tune-result.ts'
