import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { InvalidArgumentError } from 'yaoki'
import { type PolicyLayer, type PolicyModel, type SimulationResult, simulate } from 'yaoki/sim'
import { ROOT, tsc } from '../../../scripts/tools.ts'
import { Policy } from '../../../src/core/engine/policy.ts'
import { policyToTypeScript } from '../../../src/sim/scenario/source.ts'

describe('a policy as data is printed like hand-written code', () => {
	test('prints layers in order, the budget as a constant, thousands separators', () => {
		expect(
			policyToTypeScript([
				{ circuitBreaker: { failureThreshold: 5, resetTimeoutMs: 30_000 } },
				{ retry: { maxRetries: 3, budget: { maxRetryRatio: 0.1 } } },
				{ timeoutMs: 1_000 },
			]),
		).toBe(
			`import { circuitBreaker, pipeline, retry, retryBudget, timeout } from 'yaoki'

const budget = retryBudget({ maxRetryRatio: 0.1 })

export const policy = pipeline(
  circuitBreaker({ failureThreshold: 5, resetTimeoutMs: 30_000 }),
  retry({ maxRetries: 3, budget }),
  timeout(1_000),
)
`,
		)
	})

	test('prints a pipeline for an empty list', () => {
		expect(policyToTypeScript([])).toBe(
			"import { pipeline } from 'yaoki'\n\nexport const policy = pipeline()\n",
		)
	})

	test('numbers several budgets, and exports shared ones', () => {
		const printed = policyToTypeScript([
			{ bulkhead: { maxConcurrent: 20 }, shared: true },
			{ hedge: { budget: { kind: 'tokens' } } },
			{ retry: { budget: { kind: 'tokens', tokenRatio: 0.1, shared: true } } },
		])
		expect(printed.split("from 'yaoki'\n\n")[1]?.split('\n')).toEqual([
			'// Shared by all callers of this service: import it, do not create another one.',
			'export const sharedBulkhead = bulkhead({ maxConcurrent: 20 })',
			'',
			'const budget1 = tokenBudget()',
			'',
			'// Shared by all callers of this service: import it, do not create another one.',
			'export const budget2 = tokenBudget({ tokenRatio: 0.1 })',
			'',
			'export const policy = pipeline(',
			'  sharedBulkhead,',
			'  hedge({ budget: budget1 }),',
			'  retry({ budget: budget2 }),',
			')',
			'',
		])
	})

	test('breaks long lines', () => {
		const printed = policyToTypeScript([
			{
				retry: {
					maxRetries: 3,
					baseDelayMs: 1_500,
					maxDelayMs: 1e6,
					jitterStrategy: 'decorrelated',
					maxElapsedMs: 1234567.125,
				},
			},
			{ circuitBreaker: { resetBackoff: { initialMs: 2_000, factor: 2, jitterStrategy: 'decorrelated' } } },
		])
		expect(printed.split('\n').slice(2)).toEqual([
			'export const policy = pipeline(',
			'  retry({',
			'    maxRetries: 3,',
			'    baseDelayMs: 1_500,',
			'    maxDelayMs: 1_000_000,',
			"    jitterStrategy: 'decorrelated',",
			'    maxElapsedMs: 1_234_567.125,',
			'  }),',
			'  circuitBreaker({',
			"    resetBackoff: { initialMs: 2_000, factor: 2, jitterStrategy: 'decorrelated' },",
			'  }),',
			')',
			'',
		])
	})

	test('omits undefined options', () => {
		expect(policyToTypeScript([{ retry: { maxRetries: undefined } }, { bulkhead: {} }])).toContain(
			'\n  retry(),\n  bulkhead(),\n',
		)
	})

	test('prints the name of a function, with a comment', () => {
		const printed = policyToTypeScript([{ retry: { maxRetries: 2, shouldRetry: () => true } }])
		expect(printed).toContain('// shouldRetry is a function of your own and must be in scope here.')
		expect(printed).toContain('retry({ maxRetries: 2, shouldRetry })')
	})

	test('rejects an invalid layer with its path', () => {
		const odd = [{ timeoutMs: 1_000 }, { wait: 5 }] as unknown as PolicyLayer[]
		expect(() => policyToTypeScript(odd)).toThrow(InvalidArgumentError)
		expect(() => policyToTypeScript(odd)).toThrow('Invalid argument "layers[1]"')
		expect(() => policyToTypeScript([{ retry: { budget: { kind: 'gold' } as never } }])).toThrow(
			'budget.kind',
		)
	})

	// Printed `import { quotaBudget } from 'yaoki'`, which does not exist.
	test('leaves out a budget that only the simulator has, with a comment', () => {
		expect(policyToTypeScript([{ retry: { budget: { kind: 'quota' } } }]).split('\n')).toEqual([
			"import { pipeline, retry } from 'yaoki'",
			'',
			'// budget is a quota, which exists only in the simulator: create a budget of your own here.',
			'',
			'export const policy = pipeline(',
			'  retry({ budget }),',
			')',
			'',
		])
	})
})

describe('the printed program', () => {
	const programs = fc.sample(policies(), { seed: 20_260_401, numRuns: 60 })
	// Inside the repository, where `yaoki` resolves; ignored by git.
	mkdirSync(join(ROOT, '.cache'), { recursive: true })
	const folder = mkdtempSync(join(ROOT, '.cache', 'source-'))
	const fileOf = (index: number): string => join(folder, `policy-${index}.ts`)

	beforeAll(() => {
		for (const [index, layers] of programs.entries()) writeFileSync(fileOf(index), policyToTypeScript(layers))
		writeFileSync(
			join(folder, 'tsconfig.json'),
			JSON.stringify({ extends: '../../tsconfig.json', include: ['*.ts'] }),
		)
	})
	afterAll(() => rmSync(folder, { recursive: true, force: true }))

	test('compiles', () => {
		expect(tsc('-p', folder).output).toBe('')
	})

	test('creates the same policy, to the last event of a run', async () => {
		for (const [index, layers] of programs.entries()) {
			const { policy }: { policy: unknown } = await import(fileOf(index))
			if (!(policy instanceof Policy)) expect.unreachable('it exports a policy')
			const [printed, data] = [meet(() => policy), meet(layers)]
			expect(printed, policyToTypeScript(layers)).toEqual(data)
			expect(data.totals.offeredPerSecond).toBeGreaterThan(0)
		}
	})

	test('differs for other settings', () => {
		const runs = programs.map((layers) => meet(layers).traceHash)
		expect(new Set(runs).size).toBeGreaterThan(programs.length / 2)
	})
})

/** A service that is slow, then down, then fails at times, so that every policy has an effect. */
function meet(policy: PolicyModel): SimulationResult {
	return simulate({
		durationMs: 12_000,
		services: {
			api: {
				workers: 2,
				serviceTimeMs: { kind: 'exponential', meanMs: 40 },
				queue: { limit: 50 },
				faults: [
					{ kind: 'slowdown', fromMs: 1_000, toMs: 3_000, factor: 10 },
					{ kind: 'outage', fromMs: 4_000, toMs: 7_000 },
					{ kind: 'errors', fromMs: 7_000, toMs: 12_000, rate: 0.2, status: 503 },
				],
			},
		},
		clients: { web: { to: 'api', arrivals: { kind: 'poisson', perSecond: 30 }, policy: 'tried' } },
		policies: { tried: policy },
	})
}

/** Up to four layers, each with some of its options. Nothing is shared, because shared layers have their own random stream. */
function policies(): fc.Arbitrary<readonly PolicyLayer[]> {
	const ms = fc.oneof(fc.integer({ min: 1, max: 20_000 }), fc.constantFrom(1_000, 2_500.5, 1e6))
	const some = { requiredKeys: [] as [] }
	const name = fc.constantFrom('api', "it's", 'a "b"\n')
	const budget = fc.oneof(
		fc.record({ maxRetryRatio: fc.constantFrom(0, 0.1, 0.5), minRetriesPerSecond: fc.nat(5) }, some),
		fc.record({ kind: fc.constant('tokens' as const), maxTokens: fc.constantFrom(4, 10, 1_000) }),
	)
	const withinStep = ['none', 'full', 'equal', 'decorrelated'] as const
	const jitterStrategy = fc.constantFrom(...withinStep, 'proportional')
	const growth = fc.oneof(
		fc.constantFrom('linear', 'fibonacci'),
		fc.array(fc.nat(3_000), { minLength: 1, maxLength: 4 }),
	)
	const queue = { maxQueue: fc.constantFrom(0, 10, Infinity), queueTimeoutMs: ms, name }
	const layer: fc.Arbitrary<PolicyLayer> = fc.oneof(
		fc.record({
			retry: fc.record(
				{
					maxRetries: fc.nat(5),
					baseDelayMs: fc.nat(1_000),
					jitterStrategy,
					growth,
					budget,
					maxElapsedMs: ms,
				},
				some,
			),
		}),
		fc.record({ timeoutMs: ms }),
		fc.record({
			circuitBreaker: fc.record(
				{
					failureThreshold: fc.integer({ min: 1, max: 10 }),
					resetTimeoutMs: ms,
					errorRateThreshold: fc.constantFrom(0.1, 0.5),
					resetBackoff: fc.record(
						{ factor: fc.constantFrom(1, 2), jitterStrategy: fc.constantFrom(...withinStep) },
						some,
					),
					shadow: fc.boolean(),
				},
				some,
			),
		}),
		fc.record({ bulkhead: fc.record({ maxConcurrent: fc.integer({ min: 1, max: 20 }), ...queue }, some) }),
		fc.record({
			adaptiveBulkhead: fc.record({ algorithm: fc.constantFrom('gradient', 'aimd'), ...queue }, some),
		}),
		fc.record({ hedge: fc.record({ delayMs: ms, maxHedges: fc.constantFrom(1, 2), budget }, some) }),
		fc.record({
			rateLimiter: fc.record({ limit: fc.integer({ min: 1, max: 40 }), maxWaitMs: ms, name }, some),
		}),
		fc.record({ adaptiveThrottle: fc.record({ k: fc.constantFrom(1.1, 2), windowMs: ms }, some) }),
	)
	return fc.array(layer, { maxLength: 4 })
}
