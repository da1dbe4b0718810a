/**
 * The engine against the loop of decision 0002, which does the same for one pipeline with promises. Random operations, options and
 * callers: both must start the same attempts at the same times and end with the same outcome in the same instant.
 */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { Deadline, pipeline, type Runtime, retry, timeout } from 'yaoki'
import { seededRandom, virtualRuntime } from 'yaoki/testing'
import { retryWithTimeout } from './reference-loop.ts'

type Pick = <T>(...values: readonly T[]) => T
type Ends = 'value' | 'plain error' | 'throttled' | 'permanent' | 'cancelled' | 'synchronous error' | 'never'

interface Script {
	readonly seed: number
	readonly options: {
		maxRetries: number
		baseDelayMs: number
		jitterStrategy: 'full' | 'none'
		maxElapsedMs?: number
	}
	readonly timeoutMs: number
	/** How each attempt ends, and after which time. */
	readonly attempts: readonly { readonly end: Ends; readonly afterMs: number }[]
	readonly ignoresSignal: boolean
	readonly abortAtMs: number | undefined
	readonly deadlineMs: number | undefined
}

function createScript(seed: number): Script {
	const random = seededRandom(`reference ${seed}`)
	const pick: Pick = (...values) => values[Math.floor(random() * values.length)] as never
	const ends = [
		'value',
		'plain error',
		'plain error',
		'plain error',
		'never',
		'throttled',
		'permanent',
		'cancelled',
		'synchronous error',
	] as const
	return {
		seed,
		options: {
			maxRetries: pick(0, 1, 3, 5),
			baseDelayMs: pick(7, 53, 211),
			jitterStrategy: pick<'full' | 'none'>('full', 'none'),
			...pick({}, {}, { maxElapsedMs: 401 }),
		},
		timeoutMs: pick(41, 97, 307),
		attempts: Array.from({ length: 6 }, () => ({
			end: pick<Ends>(...ends),
			afterMs: pick(0, 5.01, 23.03, 71.07, 350.1),
		})),
		ignoresSignal: pick(true, false),
		abortAtMs: pick(undefined, undefined, undefined, 0, 61.3, 203.7),
		deadlineMs: pick(undefined, undefined, 157.9, 401.3),
	}
}

function errorFor(end: Ends): Error {
	const properties = {
		throttled: { status: 429, retryAfterMs: 431 },
		permanent: { status: 404 },
		cancelled: { code: 'YAOKI_CIRCUIT_OPEN' },
	}
	return Object.assign(new Error(end), properties[end as 'throttled'])
}

/** Runs a script. Returns what happened, one line for each attempt, abort and end. */
async function observe(
	script: Script,
	start: (
		operation: (context: { signal: AbortSignal; attempt: number }) => unknown,
		clock: Runtime,
		caller: object,
	) => Promise<unknown>,
): Promise<readonly string[]> {
	const clock = virtualRuntime({ seed: String(script.seed) })
	const lines: string[] = []
	const note = (text: string) => lines.push(`${clock.now().toFixed(3)} ${text}`)
	const { abortAtMs, deadlineMs, attempts, ignoresSignal } = script
	const controller = new AbortController()
	if (abortAtMs !== undefined)
		clock.setTimer(abortAtMs, () => controller.abort(new Error('the caller has left')))
	const operation = ({ signal, attempt }: { signal: AbortSignal; attempt: number }) => {
		note(`attempt ${attempt}`)
		const { end = 'value', afterMs = 0 } = attempts[attempt] ?? {}
		if (end === 'synchronous error') throw new Error(end)
		return new Promise((resolve, reject) => {
			signal.addEventListener('abort', () => {
				note(`abort ${attempt}: ${signal.reason.name} ${signal.reason.message}`)
				if (!ignoresSignal) reject(signal.reason)
			})
			if (end !== 'never')
				clock.setTimer(afterMs, () => (end === 'value' ? resolve(attempt) : reject(errorFor(end))))
		})
	}
	clock.setTimer(0, () => {
		const caller = {
			...(abortAtMs !== undefined && { signal: controller.signal }),
			...(deadlineMs !== undefined && { deadline: Deadline.after(deadlineMs, { runtime: clock }) }),
		}
		start(operation, clock, caller).then(
			(value) => note(`value ${value}`),
			(error) => note(`error ${error.name} ${error.message}`),
		)
	})
	await clock.runUntilIdle()
	return lines
}

const engine =
	({ options, timeoutMs }: Script): Parameters<typeof observe>[1] =>
	(operation, runtime, caller) =>
		pipeline({ runtime }, retry(options), timeout(timeoutMs)).execute(operation, caller)

const reference =
	({ options, timeoutMs }: Script): Parameters<typeof observe>[1] =>
	(operation, runtime, caller) =>
		retryWithTimeout(operation, { ...options, timeoutMs }, runtime, caller)

test('the engine does what the reference loop does, for retries around a timeout', async () => {
	const differences: unknown[] = []
	const seen = { lines: 0, attempts: 0, aborts: 0 }
	for (let seed = 0; seed < 3_000; seed++) {
		const script = createScript(seed)
		const expected = await observe(script, reference(script))
		const actual = await observe(script, engine(script))
		seen.lines += actual.length
		seen.attempts += actual.filter((line) => line.includes(' attempt ')).length
		seen.aborts += actual.filter((line) => line.includes(' abort ')).length
		if (JSON.stringify(expected) !== JSON.stringify(actual))
			differences.push(JSON.stringify({ script, expected, actual }))
	}
	expect(differences.slice(0, 3)).toEqual([])
	expect(seen.attempts).toBeGreaterThan(4_000)
	expect(seen.aborts).toBeGreaterThan(500)
})

test('decision 0002 shows the reference loop that is compared', () => {
	const read = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8').replaceAll('\t', '  ')
	const loop = read('./reference-loop.ts').replace('export ', '').trim()
	expect(read('../../../docs/decisions/0002-engine.md')).toContain(loop)
})
