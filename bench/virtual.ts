/** A million retried calls in virtual time, with the callback runner, on one core. */
import { retry } from 'yaoki'
import { virtualRuntime } from 'yaoki/testing'
import type { Report } from './figure.ts'
import { median } from './harness.ts'

const CALLS = 1_000_000
/** Calls in flight; each that ends starts the next. */
const CLIENTS = 1_000

function attemptsPerSecond(seed: number): number {
	const clock = virtualRuntime({ seed })
	const policy = retry({ maxRetries: 3, runtime: clock })
	const error = new Error('down')
	let [started, attempts, ended] = [0, 0, 0]
	const start = () => {
		if (started++ >= CALLS) return
		clock.run<number>(
			policy,
			({ attempt }, done) => {
				attempts++
				// Every call is retried: it fails once, and every fourth fails twice.
				if (attempt === 0 || (attempt === 1 && attempts % 4 === 0)) done(error)
				else done(null, 1)
			},
			() => {
				ended++
				start()
			},
		)
	}
	const startedAt = process.hrtime.bigint()
	for (let client = 0; client < CLIENTS; client++) start()
	clock.runTimers()
	const seconds = Number(process.hrtime.bigint() - startedAt) / 1e9
	if (ended !== CALLS) throw new Error(`only ${ended} of ${CALLS} calls ended`)
	return attempts / seconds
}

export async function virtual(): Promise<Report> {
	const runs = [1, 2, 3, 4, 5].map(attemptsPerSecond)
	const rate = median(runs)
	const measured = `${Math.round(rate).toLocaleString('en-US')} attempts/s`
	return {
		title: `${CALLS.toLocaleString('en-US')} retried calls in virtual time, ${CLIENTS} concurrently`,
		lines: runs.map((run) => `${Math.round(run).toLocaleString('en-US').padStart(12)} attempts/s`),
		figures: [
			{ figure: 'virtual time', asked: 'at least 1,000,000 attempts/s', measured, reached: rate >= 1e6 },
		],
		data: runs,
	}
}
