/** `yaoki/sim`: the same policies in virtual time, against simulated services. Runs anywhere. */
export type { Caveat, CaveatCode } from './incident/caveat.ts'
export type { Incident } from './incident/incident.ts'
export { type IncidentOptions, IncidentReader, scenarioFromIncident } from './incident/reader.ts'
export { formatIncident, type IncidentSummary } from './incident/summary.ts'
export type { Distribution } from './kernel/distribution.ts'
export type { Estimate } from './measure/estimate.ts'
export type { MeasureName } from './measure/measures.ts'
export type { ComparisonResult, Replications } from './measure/replications.ts'
export type {
	ClientResult,
	ClientTimeline,
	LatencySummary,
	Recovery,
	ServiceResult,
	ServiceTimeline,
	SimulationResult,
	Timeline,
	Totals,
} from './measure/result.ts'
export {
	expectResilience,
	ResilienceError,
	type ResilienceExpectation,
} from './run/expect.ts'
export { compare, type ReplicateOptions, replicate } from './run/replicate.ts'
export { Simulation, simulate } from './run/simulation.ts'
export type { GridStudy, Study, StudyCase, VariantStudy } from './run/study.ts'
export type { BudgetModel, PolicyFactoryContext, PolicyLayer, PolicyModel } from './scenario/layers.ts'
export type {
	Arrivals,
	ClientModel,
	DependencyModel,
	Fault,
	OptimisticLockModel,
	QueueModel,
	RateLimitModel,
	Scenario,
	ServerModel,
	ServiceModel,
	SimulationProgress,
} from './scenario/scenario.ts'
export { policyToTypeScript } from './scenario/source.ts'
export { scenarios } from './scenarios/catalog.ts'
export type { Constraints, Limit, Violation } from './tune/constraints.ts'
export { type TuneChange, type TuneOptions, type TuneResult, type TuneStep, tune } from './tune/tune.ts'
