/**
 * `npm run outage`: the same outage with naive retries and with those of Yaoki. It runs in virtual time, so a minute takes less
 * than a second. `npm run outage -- --seed 7` uses other random numbers; `--rejection-cost 0` makes rejections free.
 */
import { parseArgs } from 'node:util'
import { type RetryOptions, retry } from 'yaoki'
import { createPaint } from './outage/chart.ts'
import { type Model, simulateOutage } from './outage/model.ts'
import { report } from './outage/report.ts'

const { values } = parseArgs({
	options: {
		seed: { type: 'string', default: '1' },
		'rejection-cost': { type: 'string', default: '0.05' },
	},
})
const seed = Number(values.seed)
const rejectionCost = Number(values['rejection-cost'])
if (!Number.isSafeInteger(seed)) throw new Error(`Invalid --seed: expected an integer, got ${values.seed}`)
if (!(rejectionCost >= 0 && rejectionCost <= 1))
	throw new Error(`Invalid --rejection-cost: expected 0 to 1, got ${values['rejection-cost']}`)

const model: Model = {
	clients: 50,
	callEveryMs: 1_000,
	capacity: 100,
	maxQueueMs: 500,
	rejectionCost,
	downFromMs: 10_000,
	downToMs: 30_000,
	endMs: 60_000,
}

// Both retry for 30 seconds, until the user gives up. They differ in how they wait.
const naive: RetryOptions = {
	growth: 'constant',
	baseDelayMs: 500,
	jitterStrategy: 'none',
	maxRetries: 60,
	shouldRetry: () => true,
}
const yaoki: RetryOptions = {
	baseDelayMs: 500,
	maxDelayMs: 10_000,
	jitterStrategy: 'full',
	maxRetries: Infinity,
	maxElapsedMs: 30_000,
}

const run = (options: RetryOptions) =>
	simulateOutage(model, (runtime) => retry({ ...options, runtime }), seed)

const runs = [
	{ name: 'naive', description: 'retries every 500 ms, 60 times, after any error', result: run(naive) },
	{
		name: 'yaoki',
		description: 'exponential backoff up to 10 s with full jitter, for 30 s',
		result: run(yaoki),
	},
]

const paint = createPaint(process.stdout.isTTY === true, process.env['NO_COLOR'])
const title = `${paint('bold', 'One outage, two retry strategies')} ${paint('dim', `(virtual time, seed ${seed})`)}`
const more = paint('dim', 'Try also: npm run outage -- --seed 7, npm run outage -- --rejection-cost 0')
console.log([title, '', ...report(model, runs, paint), '', more].join('\n'))
