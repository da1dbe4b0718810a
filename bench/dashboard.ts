/**
 * What a mounted dashboard costs a call. A call that succeeds must cost nothing more, and a failed call one entry of a buffer. "not mounted" twice:
 * the difference between the two is what this run cannot distinguish. Telemetry, for comparison, counts every call.
 */
import { circuitBreaker, pipeline, retry } from 'yaoki'
import { dashboard as mount } from 'yaoki/dashboard'
import { inMemoryMetrics, observe } from 'yaoki/telemetry'
import { yaokiFour } from './creation.ts'
import { column, type Report, times } from './figure.ts'
import { type Contender, catching, line, race, ratioOf } from './harness.ts'

const MOUNTED = 'with a dashboard'
const AGAIN = 'not mounted, again'
const HOUR = 3_600_000

type Policy = ReturnType<typeof yaokiFour>

const work = async () => 1
const fail = async (): Promise<never> => {
	throw new Error('connect ECONNREFUSED')
}

/** What the callers have caught, so that the compiler cannot remove it as unused. */
let caught = 0

const calling = (name: string, policy: Policy, operation: () => Promise<unknown>): Contender =>
	catching(
		name,
		() => policy.execute(operation),
		() => caught++,
	)

/** The same calls of equal policies: two without a dashboard, one with it, and one with telemetry. */
async function compare(
	create: () => Policy,
	operation: () => Promise<unknown>,
	rounds: { readonly rounds: number; readonly count: number },
) {
	const [payments, metered] = [create(), create()]
	const page = mount({ observe: { payments } })
	const stop = observe({ metered }, [inMemoryMetrics()])
	const rows = await race(
		[
			calling('not mounted', create(), operation),
			calling(AGAIN, create(), operation),
			calling(MOUNTED, payments, operation),
			calling('with inMemoryMetrics', metered, operation),
		],
		rounds,
	)
	stop()
	await page.close()
	return rows
}

const failing = () => pipeline(circuitBreaker({ failureThreshold: 1e9 }), retry({ maxRetries: 0 }))
const failingTwice = () =>
	pipeline(circuitBreaker({ failureThreshold: 1e9 }), retry({ maxRetries: 1, baseDelayMs: 0 }))
const rejecting = () => pipeline(circuitBreaker({ failureThreshold: 1, resetTimeoutMs: HOUR }), retry())

export async function dashboard(): Promise<Report> {
	const success = await compare(yaokiFour, work, { rounds: 41, count: 20_000 })
	const failure = await compare(failing, fail, { rounds: 31, count: 4_000 })
	const retried = await compare(failingTwice, fail, { rounds: 31, count: 400 })
	const rejected = await compare(rejecting, fail, { rounds: 31, count: 4_000 })
	if (caught === 0) throw new Error('no call failed')
	const ratio = ratioOf(success, MOUNTED)
	const noise = Math.abs(ratioOf(success, AGAIN) - 1)
	const titled = (title: string, rows: typeof success) => ['', title, ...rows.map(line)]
	return {
		title: 'A dashboard beside four policies: a call that succeeds',
		lines: [
			...success.map(line),
			...titled('A call that fails at its only attempt', failure),
			...titled('A call that fails after one retry', retried),
			...titled('A call that an open circuit rejects', rejected),
			'',
			column('a failed call, times', times(ratioOf(failure, MOUNTED))),
		],
		figures: [
			{
				figure: 'a successful call with a mounted dashboard',
				asked: `at most 3 %, or the difference of two equal policies in this run (${(noise * 100).toFixed(1)} %), slower`,
				measured: `${((ratio - 1) * 100).toFixed(1)} %`,
				reached: ratio - 1 <= Math.max(noise, 0.03),
			},
		],
		data: { success, failure, retried, rejected },
	}
}
