/**
 * A breaker with an error rate over a minute, around calls that all succeed and calls of which every tenth fails. Each
 * failure is a new Error, as real work throws, and every caller catches it.
 */
import { circuitBreaker as cockatielCircuitBreaker, handleAll, SamplingBreaker } from 'cockatiel'
import Opossum from 'opossum'
import { circuitBreaker } from 'yaoki'
import { type Report, times } from './figure.ts'
import { type Contender, catching, line, type Row, race, ratioOf } from './harness.ts'
import { mollitiaBreaker, underMollitia } from './mollitia.ts'

type Work = () => Promise<number>

/** Fails in every `n`th call. One function for each contender, so that each has the same number of failures. */
const failing = (n: number): Work => {
	let calls = 0
	return async () => {
		if (++calls % n === 0) throw new Error('boom')
		return 1
	}
}

const expectingFailures = (name: string, call: () => Promise<unknown>): Contender =>
	catching(name, call, (error) => {
		// An open breaker would reject, which is cheaper.
		if (!(error instanceof Error) || error.message !== 'boom') throw error
	})

async function compare(failEvery: number): Promise<Row[]> {
	const work = () => failing(failEvery)
	const [ours, theirs, hers, bare] = [work(), work(), work(), work()]
	const yaoki = circuitBreaker({ errorRateThreshold: 0.5 })
	const cockatiel = cockatielCircuitBreaker(handleAll, {
		breaker: new SamplingBreaker({ threshold: 0.5, duration: 60_000 }),
		halfOpenAfter: 30_000,
	})
	// With percentiles, opossum sorts the durations of all calls of the last minute at each failure: this would take minutes.
	const opossum = new Opossum(work(), {
		timeout: false,
		rollingCountTimeout: 60_000,
		rollingPercentilesEnabled: false,
	})
	const mollitia = underMollitia(mollitiaBreaker())
	const rows = await race(
		[
			expectingFailures('bare await', bare),
			expectingFailures('yaoki', () => yaoki.execute(ours)),
			expectingFailures('cockatiel 4, sampling', () => cockatiel.execute(theirs)),
			expectingFailures('opossum 10', () => opossum.fire()),
		],
		{ rounds: 41, count: 10_000 },
	)
	opossum.shutdown()
	// Apart from the others: it keeps each call of the last minute in a list, and collecting these would slow them down.
	const apart = await race(
		[expectingFailures('bare await', bare), expectingFailures('mollitia 0.1', () => mollitia(hers))],
		{
			rounds: 5,
			count: 100,
		},
	)
	return [...rows, ...apart.slice(1)]
}

export async function rateBreaker(): Promise<Report> {
	const [success, tenth] = [await compare(Number.POSITIVE_INFINITY), await compare(10)]
	const figureOf = (figure: string, rows: readonly Row[]) => {
		const peer = Math.min(ratioOf(rows, 'cockatiel 4, sampling'), ratioOf(rows, 'opossum 10'))
		const ours = ratioOf(rows, 'yaoki')
		return {
			figure,
			asked: `at most the best peer (${times(peer)})`,
			measured: times(ours),
			reached: ours <= peer,
		}
	}
	return {
		title: 'A breaker with an error rate over a minute',
		lines: ['every call succeeds:', ...success.map(line), 'every tenth call fails:', ...tenth.map(line)],
		figures: [
			figureOf('a breaker with an error rate, success', success),
			figureOf('a breaker with an error rate, 10 % failures', tenth),
		],
		data: { success, tenth },
	}
}
