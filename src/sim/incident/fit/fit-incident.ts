/**
 * Explains a whole log: finds the workers of the service, if they are not given, and the faults that explain
 * the detected symptoms with them.
 *
 * The workers show in normal traffic already: responses become slower whenever more requests than workers are
 * in flight. Normal periods exclude most numbers at little cost; what remains is compared over the faults
 * too, because an overload shows the capacity best. Throughput while the service is saturated was rejected as
 * the measure: in a retry storm no response comes in time, so the log has none.
 */
import type { DetectedFault, Detection } from '../detect/detect-faults.ts'
import type { Pace } from '../detect/service-time.ts'
import type { AttemptBins } from '../log/attempts.ts'
import { at } from '../log/numbers.ts'
import { type Cluster, groupFaults } from './candidates.ts'
import { type ClusterFit, type Explanation, fitCluster, SAME } from './fit-cluster.ts'
import { type Period, QueueModel } from './queue-model.ts'
import { RecordedAttempts } from './recorded.ts'
import { countInFlight, type Evidence, serviceTimesWith } from './service-times.ts'

export interface Fit {
	readonly workers: number
	readonly serviceTimes: Float64Array
	/** One explanation per group of detected faults. */
	readonly explanations: readonly Explanation[]
	readonly faults: readonly DetectedFault[]
	readonly logLikelihood: number
}

export interface IncidentFit {
	readonly best: Fit
	/** Others that are about as likely and differ in when faults end, or in the workers. */
	readonly others: readonly Fit[]
	/** The smallest and the largest number of workers that explain the log. */
	readonly workersBetween: readonly [number, number]
	/** The model of the best fit. It predicts with `recorded`. */
	readonly model: QueueModel
	readonly recorded: RecordedAttempts
}

/** The recorded service times fluctuate, which excludes numbers of workers less than it does ends of a fault. */
const WORKERS_TOLERANCE = 40

const MAX_FITTED = 3

/** An overload that the model predicts may last longer than the recorded one. */
const TAIL_MS = 10_000

/** Each number of workers is larger than the one before by about this share. */
const WORKERS_STEP = 0.1

export function fitIncident(
	bins: AttemptBins,
	{ faults, isSlowBin, serviceTimes }: Detection,
	pace: Pace,
	workers: number | undefined,
): IncidentFit {
	const recorded = new RecordedAttempts(bins, pace)
	const inFlight = countInFlight(bins.attempts, recorded.index)
	const context: Context = {
		evidence: { bins, isSlowBin, serviceTimes, recorded, inFlight },
		clusters: groupFaults(faults, bins.widthMs),
		models: new Map(),
	}
	const counts = workers === undefined ? selectWorkers(context) : [workers]
	const fits = counts.map((count) => fitWith(count, context))
	const max = fits.reduce((most, { best }) => Math.max(most, best.logLikelihood), -Infinity)
	const within = (tolerance: number) => fits.filter(({ best }) => best.logLikelihood >= max - tolerance)
	// A limit that explains no more than a higher one is no limit.
	const chosen = within(SAME).at(-1)
	const [fewest, ...more] = within(WORKERS_TOLERANCE)
	if (!chosen || !fewest) throw new Error('the best fit is always within the tolerance')
	const most = more.at(-1) ?? fewest
	return {
		best: chosen.best,
		others: [chosen.earliest, chosen.latest, fewest.best, fewest.latest, most.best, most.earliest],
		workersBetween: [fewest.best.workers, most.best.workers],
		model: modelWith(chosen.best.workers, context).model,
		recorded,
	}
}

interface Context {
	readonly evidence: Evidence
	readonly clusters: readonly Cluster[]
	readonly models: Map<number, { readonly model: QueueModel; readonly serviceTimes: Float64Array }>
}

function modelWith(workers: number, { evidence, models }: Context) {
	const known = models.get(workers)
	if (known) return known
	const times = serviceTimesWith(workers, evidence)
	const created = { model: new QueueModel(evidence.recorded, times), serviceTimes: times.serviceTimes }
	models.set(workers, created)
	return created
}

/** Returns the numbers of workers that normal periods allow, in ascending order, or a selection of them. */
function selectWorkers(context: Context): readonly number[] {
	const { inFlight } = context.evidence
	const max = inFlight.reduce((a, b) => Math.max(a, b), 0)
	const counts: number[] = []
	for (let count = 1; count <= max; count = Math.max(count + 1, Math.round(count * (1 + WORKERS_STEP))))
		counts.push(count)
	counts.push(Infinity)
	const scored = counts.map((count) => ({ count, logLikelihood: normalLikelihood(count, context) }))
	const best = scored.reduce((a, b) => (b.logLikelihood > a.logLikelihood ? b : a))
	const likely = scored
		.filter(({ logLikelihood }) => logLikelihood >= best.logLikelihood - WORKERS_TOLERANCE)
		.map(({ count }) => count)
	if (likely.length <= MAX_FITTED) return likely
	const picked = Array.from({ length: MAX_FITTED }, (_, index) =>
		at(likely, Math.round((index * (likely.length - 1)) / (MAX_FITTED - 1))),
	)
	return [...new Set([...picked, best.count])].sort((a, b) => a - b)
}

function normalLikelihood(workers: number, context: Context): number {
	const { model } = modelWith(workers, context)
	return normalPeriods(context).reduce(
		(sum, period) => sum + model.logLikelihood({ workers, faults: [] }, period, -Infinity),
		0,
	)
}

function normalPeriods({ clusters, evidence: { bins } }: Context): readonly Period[] {
	const periods: Period[] = []
	let fromMs = 0
	for (const { fromMs: begins, toMs } of clusters) {
		periods.push({ fromMs, toMs: begins - bins.widthMs })
		fromMs = toMs + TAIL_MS
	}
	periods.push({ fromMs, toMs: Infinity })
	return periods.filter((period) => period.toMs > period.fromMs)
}

function fitWith(workers: number, context: Context): Readonly<Record<keyof ClusterFit, Fit>> {
	const { clusters, evidence } = context
	const { model, serviceTimes } = modelWith(workers, context)
	const { recorded, bins } = evidence
	const fits: ClusterFit[] = []
	for (const cluster of clusters) {
		const before = fits.flatMap(({ best }) => best.faults)
		const period = { fromMs: cluster.fromMs - bins.widthMs, toMs: cluster.toMs + TAIL_MS }
		fits.push(fitCluster(cluster, { model, recorded, workers, resolutionMs: bins.widthMs, before, period }))
	}
	const normal = normalLikelihood(workers, context)
	const create = (which: keyof ClusterFit): Fit => {
		const explanations = fits.map((fit) => fit[which])
		return {
			workers,
			serviceTimes,
			explanations,
			faults: explanations.flatMap(({ faults }) => faults),
			logLikelihood: explanations.reduce((sum, one) => sum + one.logLikelihood, normal),
		}
	}
	return { best: create('best'), earliest: create('earliest'), latest: create('latest') }
}
