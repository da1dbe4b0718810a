/**
 * The time and the memory to create a pipeline of four policies, as a program does that has one for each tenant or
 * destination. The policies are those of the part `stack`.
 */
import {
	ConsecutiveBreaker,
	bulkhead as cockatielBulkhead,
	circuitBreaker as cockatielCircuitBreaker,
	retry as cockatielRetry,
	timeout as cockatielTimeout,
	ExponentialBackoff,
	handleAll,
	TimeoutStrategy,
	wrap,
} from 'cockatiel'
import { circuits } from 'mollitia'
import { bulkhead, circuitBreaker, pipeline, retry, timeout } from 'yaoki'
import { bytes, column, type Report } from './figure.ts'
import { type Contender, line, race } from './harness.ts'
import { mollitiaFour } from './mollitia.ts'
import { bytesHeld } from './weigh.ts'

export const yaokiFour = () =>
	pipeline(
		bulkhead({ maxConcurrent: 10, maxQueue: 50 }),
		circuitBreaker({ failureThreshold: 5, resetTimeoutMs: 30_000 }),
		retry({ maxRetries: 3 }),
		timeout(5_000),
	)

export const cockatielFour = (strategy = TimeoutStrategy.Cooperative, abortOnReturn = true) =>
	wrap(
		cockatielBulkhead(10, 50),
		cockatielCircuitBreaker(handleAll, { breaker: new ConsecutiveBreaker(5), halfOpenAfter: 30_000 }),
		cockatielRetry(handleAll, { maxAttempts: 3, backoff: new ExponentialBackoff() }),
		cockatielTimeout(5_000, { strategy, abortOnReturn }),
	)

const MAX_NANOSECONDS = 10_000
const MAX_BYTES = 1_500

/** What was created last, so that the compiler cannot remove the creation as unused. */
let last: unknown

const creating = (name: string, make: () => unknown): Contender => ({
	name,
	async run(count) {
		for (let i = 0; i < count; i++) last = make()
		// mollitia lists all circuits, and the list would grow from round to round.
		circuits.length = 0
	},
})

export async function creation(): Promise<Report> {
	const makers: Record<string, () => unknown> = {
		yaoki: yaokiFour,
		'cockatiel 4': cockatielFour,
		'mollitia 0.1': mollitiaFour,
	}
	const rows = await race(
		Object.entries(makers).map(([name, make]) => creating(name, make)),
		{ rounds: 41, count: 1_000 },
	)
	if (!last) throw new Error('nothing was created')
	const held: { name: string; bytes: number }[] = []
	for (const [name, make] of Object.entries(makers)) {
		held.push({ name, bytes: await bytesHeld(5_000, make) })
		circuits.length = 0
	}
	const nanoseconds = rows[0]?.nanoseconds ?? Number.NaN
	const ours = held[0]?.bytes ?? Number.NaN
	const figure = 'creating a pipeline of four policies'
	return {
		title: 'Creating a pipeline of four policies: time, and bytes held by an unused one',
		lines: [...rows.map(line), ...held.map((row) => column(row.name, bytes(row.bytes)))],
		figures: [
			{
				figure,
				asked: 'at most 10 us',
				measured: `${(nanoseconds / 1000).toFixed(1)} us`,
				reached: nanoseconds <= MAX_NANOSECONDS,
			},
			{ figure, asked: 'at most 1,500 bytes', measured: bytes(ours), reached: ours <= MAX_BYTES },
		],
		data: { rows, held },
	}
}
