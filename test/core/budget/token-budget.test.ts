import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { TokenBudget, type TokenBudgetOptions, tokenBudget } from '../../../src/core/budget/token-budget.ts'
import { command, HISTORIES, LENGTH } from '../structures/command.ts'

const budgetAfter = (options: TokenBudgetOptions, ...outcomes: readonly boolean[]) => {
	const budget = tokenBudget(options)
	for (const ok of outcomes) budget.recordOutcome(ok)
	return budget
}
const times = (count: number, ok: boolean) => new Array<boolean>(count).fill(ok)

describe('tokenBudget', () => {
	it('starts full, with ten tokens by default', () => {
		expect(new TokenBudget().stats).toEqual({ tokens: 10, available: 5 })
	})
	it('stops retries when half of the tokens are left', () => {
		expect(budgetAfter({}, ...times(4, false)).canRetry()).toBe(true)
		expect(budgetAfter({}, ...times(5, false)).canRetry()).toBe(false)
	})
	it('allows retries again when more than half of the tokens are back', () => {
		expect(budgetAfter({}, ...times(5, false), true).canRetry()).toBe(true)
		expect(budgetAfter({}, ...times(6, false), ...times(10, true)).canRetry()).toBe(false)
		expect(budgetAfter({}, ...times(6, false), ...times(11, true)).canRetry()).toBe(true)
	})
	it('keeps the tokens between 0 and maxTokens', () => {
		expect(budgetAfter({}, ...times(100, false)).stats.tokens).toBe(0)
		expect(budgetAfter({}, ...times(100, true)).stats.tokens).toBe(10)
	})
	it('has exactly one token after ten times 0.1', () => {
		expect(budgetAfter({}, ...times(10, false), ...times(10, true)).stats.tokens).toBe(1)
	})
	it('drops the decimals after the third, as gRPC does', () => {
		const one = (tokenRatio: number) => budgetAfter({ tokenRatio }, ...times(10, false), true).stats.tokens
		expect([one(0.5466), one(0.5469), one(1.005), one(0.001)]).toEqual([0.546, 0.546, 1.005, 0.001])
	})
	it('ignores calls and retries; only outcomes count', () => {
		const budget = new TokenBudget()
		for (let i = 0; i < 100; i++) {
			budget.recordRequest()
			budget.recordRetry()
		}
		expect(budget.stats.tokens).toBe(10)
	})
	it('keeps its fill level in proportion when its size changes', () => {
		const budget = budgetAfter({}, ...times(4, false))
		budget.update({ maxTokens: 100 })
		expect(budget.stats).toEqual({ tokens: 60, available: 10 })
		budget.recordOutcome(true)
		expect(budget.stats.tokens).toBe(60.1)
		budget.update({ tokenRatio: 2, maxTokens: undefined })
		budget.recordOutcome(true)
		expect(budget.stats.tokens).toBe(62.1)
	})

	it.each([
		[{ maxTokens: 0 }, 'Invalid option "maxTokens": expected a number from 0.001 to 1000, got 0'],
		[{ maxTokens: 1_001 }, 'Invalid option "maxTokens": expected a number from 0.001 to 1000, got 1001'],
		[{ maxTokens: Number.NaN }, 'Invalid option "maxTokens": expected a number from 0.001 to 1000, got NaN'],
		[{ tokenRatio: 0 }, 'Invalid option "tokenRatio": expected a number from 0.001 to 1000, got 0'],
		[{ tokenRatio: -1 }, 'Invalid option "tokenRatio": expected a number from 0.001 to 1000, got -1'],
		[{ tokens: 1 }, 'Unknown option "tokens" for tokenBudget. Did you mean "maxTokens"?'],
	])('rejects %j', (options, message) => {
		expect(() => new TokenBudget(options as TokenBudgetOptions)).toThrow(message)
	})
})

interface Model {
	max: bigint
	ratio: bigint
	tokens: bigint
}

describe('compared with integers', () => {
	it('allows retries exactly while more than half of the tokens are left', () => {
		const agree = (model: Model, real: TokenBudget) => {
			expect(real.stats.tokens).toBe(Number(model.tokens) / 1_000)
			expect(real.canRetry()).toBe(2n * model.tokens > model.max)
			// available() is the number of retries if all of them fail.
			let { tokens } = model
			let retries = 0
			for (; 2n * tokens > model.max; retries++) tokens -= 1_000n
			expect(real.available()).toBe(retries)
		}
		const amount = fc.integer({ min: 1, max: 30_000 })
		const ratio = fc.integer({ min: 1, max: 2_500 })
		const commands = fc.commands<Model, TokenBudget>(
			[
				fc.constant(
					command('success', (model: Model, real: TokenBudget) => {
						const tokens = model.tokens + model.ratio
						model.tokens = tokens > model.max ? model.max : tokens
						real.recordOutcome(true)
						agree(model, real)
					}),
				),
				fc.constant(
					command('failure', (model: Model, real: TokenBudget) => {
						model.tokens = model.tokens > 1_000n ? model.tokens - 1_000n : 0n
						real.recordOutcome(false)
						agree(model, real)
					}),
				),
				fc.tuple(amount, ratio).map(([max, perSuccess]) =>
					command(`update(${max}, ${perSuccess})`, (model, real) => {
						// The share of the old bucket, rounded to the nearest thousandth.
						model.tokens = (2n * model.tokens * BigInt(max) + model.max) / (2n * model.max)
						model.max = BigInt(max)
						model.ratio = BigInt(perSuccess)
						real.update({ maxTokens: max / 1_000, tokenRatio: perSuccess / 1_000 })
						agree(model, real)
					}),
				),
			],
			LENGTH,
		)
		fc.assert(
			fc.property(amount, ratio, commands, (max, perSuccess, history) => {
				const options = { maxTokens: max / 1_000, tokenRatio: perSuccess / 1_000 }
				const model = { max: BigInt(max), ratio: BigInt(perSuccess), tokens: BigInt(max) }
				fc.modelRun(() => ({ model: { ...model }, real: new TokenBudget(options) }), history)
			}),
			HISTORIES,
		)
	})
})
