/**
 * Memory of a waiting retry: ten thousand calls that have failed once and wait. All waits have the same length, because Node
 * keeps one list per timer length, and ten thousand lists would be measured too.
 */
import { retry as cockatielRetry, ExponentialBackoff, handleAll } from 'cockatiel'
import pRetry from 'p-retry'
import { retry } from 'yaoki'
import { byHand } from './by-hand.ts'
import { bytes, column, type Report } from './figure.ts'
import { bytesHeld } from './weigh.ts'

const CALLS = 10_000
const HOUR = 3_600_000

const down = new Error('down')
const work = () => Promise.reject(down)
const yaoki = retry({ baseDelayMs: HOUR, maxDelayMs: HOUR, jitterStrategy: 'none' })
const cockatiel = cockatielRetry(handleAll, {
	maxAttempts: 3,
	backoff: new ExponentialBackoff({ initialDelay: HOUR, maxDelay: HOUR, generator: () => [HOUR, undefined] }),
})

const CONTENDERS: Record<string, () => Promise<unknown>> = {
	'by hand': () => byHand(work, () => HOUR),
	yaoki: () => yaoki.execute(work),
	'yaoki, settle': () => yaoki.settle(work),
	'cockatiel 4': () => cockatiel.execute(work),
	'p-retry 9': () => pRetry(work, { retries: 3, minTimeout: HOUR }),
}

export async function memory(): Promise<Report> {
	const rows: { name: string; bytes: number }[] = []
	for (const [name, call] of Object.entries(CONTENDERS)) {
		rows.push({ name, bytes: await bytesHeld(CALLS, call) })
	}
	const ours = rows.find((row) => row.name === 'yaoki')?.bytes ?? Number.NaN
	return {
		title: `${CALLS.toLocaleString('en-US')} concurrent waiting retries`,
		lines: rows.map((row) => column(row.name, bytes(row.bytes))),
		figures: [
			{
				figure: 'a waiting retry',
				asked: 'under 1,000 bytes of heap',
				measured: bytes(ours),
				reached: ours < 1000,
			},
		],
		data: rows,
	}
}
