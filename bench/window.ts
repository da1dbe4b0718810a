/**
 * A breaker with a time window that contains 1,000 or 100,000 calls. The bench controls the clock: each call advances it by
 * `windowMs / calls`, so the number of calls in the window stays constant. With the real clock all calls of a round
 * would be inside the window, and after a few rounds both windows would contain the same number of calls.
 */
import { type CircuitBreaker, circuitBreaker, type Runtime } from 'yaoki'
import { type Report, times } from './figure.ts'
import { type Contender, line, race } from './harness.ts'

const FEW = 1_000
const MANY = 100_000
const WINDOW_MS = 10_000

const error = new Error('down')
const succeed = () => Promise.resolve(1)
const fail = () => Promise.reject(error)

/** A breaker under a constant load that keeps `calls` calls in its window. */
class Load {
	readonly breaker: CircuitBreaker
	readonly #stepMs: number
	readonly #failing: boolean
	#now = 0

	constructor(calls: number, failing: boolean, errorRateThreshold: number, minimumRequests: number) {
		const runtime: Runtime = {
			now: () => this.#now,
			wallNow: () => this.#now,
			random: () => 0.5,
			setTimer: () => () => {},
		}
		const options = { errorRateThreshold, minimumRequests, monitorWindowMs: WINDOW_MS, runtime }
		this.breaker = circuitBreaker(options)
		this.#stepMs = WINDOW_MS / calls
		this.#failing = failing
	}

	/** One in four calls fails, if any does: below the rate threshold and below the consecutive threshold. */
	async run(count: number): Promise<void> {
		for (let i = 0; i < count; i++) {
			this.#now += this.#stepMs
			if (this.#failing && i % 4 === 0) await this.breaker.execute(fail).catch(() => {})
			else await this.breaker.execute(succeed)
		}
	}
}

async function contender(calls: number, failing: boolean): Promise<Contender> {
	const load = new Load(calls, failing, 0.5, 10)
	await load.run(2 * calls)
	const name = `${calls.toLocaleString('en-US')} calls in the window`
	return {
		name,
		async run(count) {
			await load.run(count)
			// An open breaker would reject, which is cheaper.
			if (load.breaker.currentState !== 'closed') throw new Error(`the breaker opened: ${name}`)
		},
	}
}

/**
 * Checks that the window contains `calls` calls: under the same load, a breaker with `minimumRequests` of four fifths of them
 * must open, and one with six fifths must not.
 */
async function checkWindowHolds(calls: number): Promise<void> {
	for (const [share, isEnough] of [
		[0.8, true],
		[1.2, false],
	] as const) {
		const load = new Load(calls, true, 0.2, calls * share)
		await load.run(3 * calls).catch(() => {})
		if ((load.breaker.currentState === 'open') !== isEnough)
			throw new Error(
				`the window does not hold ${calls} calls: ${share} of them are ${isEnough ? 'not ' : ''}there`,
			)
	}
}

async function compare(failing: boolean) {
	const rows = await race([await contender(FEW, failing), await contender(MANY, failing)], {
		rounds: 41,
		count: 50_000,
	})
	return { rows, ratio: rows[1]?.ratio ?? Number.NaN }
}

export async function timeWindow(): Promise<Report> {
	for (const calls of [FEW, MANY]) await checkWindowHolds(calls)
	const [successes, failures] = [await compare(false), await compare(true)]
	const figureOf = (figure: string, ratio: number) => ({
		figure,
		asked: 'with 100,000 calls in it within 10 % of with 1,000',
		measured: times(ratio),
		reached: Math.max(ratio, 1 / ratio) <= 1.1,
	})
	return {
		title: 'A breaker with an error rate over a time window',
		lines: [
			'every call succeeds:',
			...successes.rows.map(line),
			'one call in four fails:',
			...failures.rows.map(line),
		],
		figures: [
			figureOf('a time window, successes', successes.ratio),
			figureOf('a time window, one in four fails', failures.ratio),
		],
		data: { successes, failures },
	}
}
