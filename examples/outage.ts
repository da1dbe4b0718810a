/**
 * `npm start`: an outage, met once by naive retries and once by Yaoki's. It runs in virtual time and so takes no longer than
 * its arithmetic. `npm start -- --seed 7` draws other chances; `--refusal-cost 0` makes saying no free.
 */
import { parseArgs } from 'node:util'
import { type RetryOptions, retry } from 'yaoki'
import { painter } from './outage/chart.ts'
import { type Model, meetOutage } from './outage/model.ts'
import { report } from './outage/report.ts'

const { values } = parseArgs({
	options: {
		seed: { type: 'string', default: '1' },
		'refusal-cost': { type: 'string', default: '0.05' },
	},
})
const seed = Number(values.seed)
const refusalCost = Number(values['refusal-cost'])
if (!Number.isSafeInteger(seed)) throw new Error(`--seed: got '${values.seed}'; takes a whole number`)
if (!(refusalCost >= 0 && refusalCost <= 1))
	throw new Error(`--refusal-cost: got '${values['refusal-cost']}'; takes 0 to 1`)

const model: Model = {
	...{ clients: 50, callEveryMs: 1_000, capacity: 100, longestQueueMs: 500, refusalCost },
	...{ downFromMs: 10_000, upAgainMs: 30_000, endMs: 60_000 },
}

// Both have the same patience: after 30 seconds a user is gone. What differs is how they wait until then.
const naive: RetryOptions = {
	...{ growth: 'constant', baseDelayMs: 500, jitterStrategy: 'none' },
	...{ maxRetries: 60, shouldRetry: () => true },
}
const ours: RetryOptions = {
	...{ baseDelayMs: 500, maxDelayMs: 10_000, jitterStrategy: 'full' },
	...{ maxRetries: Infinity, maxElapsedMs: 30_000 },
}

const meet = (options: RetryOptions) => meetOutage(model, (runtime) => retry({ ...options, runtime }), seed)

const runs = [
	{ name: 'naive', says: 'again every 500 ms, 60 times, whatever went wrong', outcome: meet(naive) },
	{ name: 'yaoki', says: 'full jitter, steps that double up to 10 s, 30 s in all', outcome: meet(ours) },
]

const paint = painter(process.stdout.isTTY === true, process.env['NO_COLOR'])
const title = `${paint('bold', 'An outage, met twice')} ${paint('dim', `(virtual time, seed ${seed})`)}`
const more = paint('dim', 'Also: npm start -- --seed 7, and npm start -- --refusal-cost 0')
console.log([title, '', ...report(model, runs, paint), '', more].join('\n'))
