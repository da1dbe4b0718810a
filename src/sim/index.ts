/** `yaoki/sim`: the same policies in virtual time, against simulated services. Runs anywhere. */
export type { Caveat, CaveatCode, MissingMeasurement } from './incident/caveat.ts'
export type { Incident } from './incident/incident.ts'
export { type IncidentOptions, IncidentReader, scenarioFromIncident } from './incident/reader.ts'
export { type IncidentReplay, replayIncident } from './incident/replay.ts'
export { formatIncident, type IncidentSummary } from './incident/summary.ts'
export type { ReplayVerdict } from './incident/verdict.ts'
export type { Distribution } from './kernel/distribution.ts'
export { type LoadCurveFromCsvOptions, loadCurveFromCsv } from './load/csv.ts'
export type { LoadCurve, LoadCurveOptions, LoadCurveSummary } from './load/load-curve.ts'
export { type LoadCurveFromPrometheusOptions, loadCurveFromPrometheus } from './load/prometheus.ts'
export type { Estimate } from './measure/estimate.ts'
export type { MeasureName } from './measure/measures.ts'
export type { ComparisonResult, Replications } from './measure/replications.ts'
export type {
	ClassResult,
	ClientResult,
	ClientTimeline,
	InstanceResult,
	LatencySummary,
	Recovery,
	RecoveryStatus,
	RunRecovery,
	ServiceResult,
	ServiceTimeline,
	SimulationResult,
	SimulationTotals,
	Timeline,
} from './measure/result.ts'
export {
	expectResilience,
	ResilienceError,
	type ResilienceExpectation,
} from './run/expect.ts'
export { compare, type ReplicateOptions, replicate } from './run/replicate.ts'
export { Simulation, simulate } from './run/simulation.ts'
export type { GridStudy, Study, StudyCase, VariantStudy } from './run/study.ts'
export type { ArrivalBursts, ArrivalCurve, Arrivals, RatePoint } from './scenario/arrivals-model.ts'
export type { AutoscalingModel, EjectionModel, LoadBalancerModel } from './scenario/balancer-model.ts'
export type { BudgetModel, PolicyFactoryContext, PolicyLayer, PolicyModel } from './scenario/layers.ts'
export type {
	ClientModel,
	DependencyModel,
	Fault,
	OptimisticLockModel,
	QueueModel,
	RateLimitModel,
	RequestClassModel,
	ScalabilityModel,
	Scenario,
	ServerModel,
	ServiceModel,
	SharedFault,
	SimulationProgress,
} from './scenario/scenario.ts'
export { policyToTypeScript } from './scenario/source.ts'
export { scenarios } from './scenarios/catalog.ts'
export { applyChanges, type TuneChange } from './tune/changes.ts'
export type { MeasureLimit, TuneConstraints, Violation } from './tune/constraints.ts'
export type { TuneOptions } from './tune/options.ts'
export { tune } from './tune/tune.ts'
export type {
	BestSingle,
	ConsideredSetting,
	NearestMiss,
	SettingSensitivity,
	StrongestEffect,
	TuneResult,
	TuneStep,
} from './tune/tune-result.ts'
