/** `yaoki/sim`: the same policies in virtual time, against modelled services. Runs anywhere. */
export type { Incident } from './incident/incident.ts'
export { incidentScenario } from './incident/incident-scenario.ts'
export type { IncidentOptions } from './incident/options.ts'
export { IncidentReader } from './incident/reader.ts'
export { type IncidentSummary, incidentText } from './incident/summary.ts'
export type { Distribution } from './kernel/distribution.ts'
export type { Estimate } from './measure/estimate.ts'
export type { MeasureName } from './measure/measures.ts'
export type {
	ClientResult,
	ClientTimeline,
	Latency,
	Recovery,
	Result,
	ServiceResult,
	ServiceTimeline,
	Timeline,
	Totals,
} from './measure/result.ts'
export { type CaseOutcome, type Outcome, runStudy } from './report/outcome.ts'
export { dataOf, htmlOf, svgOf, type TextOptions, textOf } from './report/report.ts'
export { type Compared, compare } from './run/compare.ts'
export {
	type Comparison,
	expectResilience,
	ResilienceError,
	type ResilienceExpectation,
} from './run/expect.ts'
export { type ReplicateOptions, type Replications, replicate } from './run/replicate.ts'
export { simulate } from './run/simulate.ts'
export { Simulation } from './run/simulation.ts'
export type { Case, Curves, GridStudy, PublishedFigure, Reference, Study, VariantStudy } from './run/study.ts'
export type { BudgetModel } from './scenario/budgets.ts'
export type { LayerOptions, PolicyLayer } from './scenario/layers.ts'
export type {
	Arrivals,
	ClientModel,
	DependencyModel,
	Fault,
	PolicyModel,
	PolicyWorld,
	Progress,
	QueueModel,
	RateLimitModel,
	RowModel,
	Scenario,
	ServerModel,
	ServiceModel,
} from './scenario/scenario.ts'
export { toTypeScript } from './scenario/source.ts'
export { scenarios } from './scenarios/catalog.ts'
export type { Bound, Constraints, Violation } from './tune/constraints.ts'
export { type Tried, type Tuned, type TunedChange, type TuneOptions, tune } from './tune/tune.ts'
