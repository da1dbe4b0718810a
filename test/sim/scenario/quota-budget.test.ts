import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { QuotaBudget, type QuotaBudgetOptions } from '../../../src/sim/scenario/quota-budget.ts'
import { command, HISTORIES, LENGTH } from '../../core/structures/command.ts'

describe('QuotaBudget', () => {
	it('allows 100 retries by default', () => {
		expect(new QuotaBudget().stats).toEqual({ left: 500, available: 100 })
	})
	it('takes 5 for a retry and 10 for a retry after a timeout', () => {
		const budget = new QuotaBudget()
		budget.recordRetry()
		expect(budget.stats.left).toBe(495)
		budget.recordRetry(0, true)
		expect(budget.stats.left).toBe(485)
	})
	it('rejects a retry that costs more than is left, and allows a cheaper one', () => {
		const budget = new QuotaBudget({ capacity: 9 })
		expect([budget.canRetry(0, true), budget.canRetry(0, false), budget.canRetry()]).toEqual([
			false,
			true,
			true,
		])
		budget.recordRetry()
		expect(budget.canRetry()).toBe(false)
	})
	it('refunds the cost of the latest retry when it succeeds', () => {
		const budget = new QuotaBudget()
		budget.recordRetry()
		budget.recordRetry(0, true)
		budget.recordOutcome(true, 'timeout')
		expect(budget.stats.left).toBe(495)
		budget.recordOutcome(true, 'failure')
		expect(budget.stats.left).toBe(500)
	})
	it('refunds 1 for a success without a retry, and nothing for a failure', () => {
		const budget = new QuotaBudget()
		budget.recordRetry()
		budget.recordOutcome(false)
		budget.recordOutcome(false, 'failure')
		expect(budget.stats.left).toBe(495)
		budget.recordOutcome(true)
		expect(budget.stats.left).toBe(496)
	})
	it('ignores calls', () => {
		const budget = new QuotaBudget()
		budget.recordRequest()
		expect(budget.stats.left).toBe(500)
	})

	it.each([
		[{ capacity: -1 }, 'Invalid option "capacity": expected an integer from 0 to 1000000000, got -1'],
		[{ capacity: 1.5 }, 'Invalid option "capacity": expected an integer from 0 to 1000000000, got 1.5'],
		[{ retryCost: 0 }, 'Invalid option "retryCost": expected an integer from 1 to 1000000000, got 0'],
		[{ retryCost: 2.5 }, 'Invalid option "retryCost": expected an integer from 1 to 1000000000, got 2.5'],
		[
			{ timeoutCost: Number.NaN },
			'Invalid option "timeoutCost": expected an integer from 1 to 1000000000, got NaN',
		],
		[{ timeoutCost: 1.1 }, 'Invalid option "timeoutCost": expected an integer from 1 to 1000000000, got 1.1'],
		[
			{ successRefund: -1 },
			'Invalid option "successRefund": expected an integer from 0 to 1000000000, got -1',
		],
		[
			{ successRefund: 0.5 },
			'Invalid option "successRefund": expected an integer from 0 to 1000000000, got 0.5',
		],
		[{ cost: 1 }, 'Unknown option "cost" for quota. Valid options: capacity, '],
	])('rejects %j', (options, message) => {
		expect(() => new QuotaBudget(options as QuotaBudgetOptions)).toThrow(message)
	})
})

interface Model {
	settings: Record<'capacity' | 'retryCost' | 'timeoutCost' | 'successRefund', number>
	left: number
	/** The causes of the retries in flight. */
	running: ('timeout' | 'failure')[]
}

describe('compared with a model', () => {
	it('allows exactly the retries that the quota covers, and never refunds above the capacity', () => {
		const price = (model: Model, isTimeout: boolean) =>
			isTimeout ? model.settings.timeoutCost : model.settings.retryCost
		const add = (model: Model, amount: number) => {
			model.left = Math.min(model.settings.capacity, model.left + amount)
		}
		const agree = (model: Model, real: QuotaBudget) => {
			expect(real.stats.left).toBe(model.left)
			for (const isTimeout of [true, false])
				expect(real.canRetry(0, isTimeout)).toBe(model.left - price(model, isTimeout) >= 0)
			let retries = 0
			for (let left = model.left; left >= model.settings.retryCost; retries++)
				left -= model.settings.retryCost
			expect(real.available()).toBe(retries)
		}
		const settings = fc.record({
			capacity: fc.nat(60),
			retryCost: fc.integer({ min: 1, max: 12 }),
			timeoutCost: fc.integer({ min: 1, max: 20 }),
			successRefund: fc.nat(3),
		})
		const commands = fc.commands<Model, QuotaBudget>(
			[
				fc.boolean().map((isTimeout) =>
					command(`retry after ${isTimeout ? 'a timeout' : 'a failure'}`, (model, real) => {
						if (real.canRetry(0, isTimeout)) {
							real.recordRetry(0, isTimeout)
							model.left -= price(model, isTimeout)
							model.running.push(isTimeout ? 'timeout' : 'failure')
						}
						expect(model.left).toBeGreaterThanOrEqual(0)
						agree(model, real)
					}),
				),
				fc.boolean().map((ok) =>
					command(`a retry ${ok ? 'succeeds' : 'fails'}`, (model, real) => {
						const chargedFor = model.running.shift()
						real.recordOutcome(ok, chargedFor)
						if (ok)
							add(model, chargedFor ? price(model, chargedFor === 'timeout') : model.settings.successRefund)
						agree(model, real)
					}),
				),
				fc.boolean().map((ok) =>
					command(`a first attempt ${ok ? 'succeeds' : 'fails'}`, (model, real) => {
						real.recordRequest()
						real.recordOutcome(ok)
						if (ok) add(model, model.settings.successRefund)
						agree(model, real)
					}),
				),
			],
			LENGTH,
		)
		fc.assert(
			fc.property(settings, commands, (options, history) => {
				fc.modelRun(
					() => ({
						model: { settings: options, left: options.capacity, running: [] },
						real: new QuotaBudget(options),
					}),
					history,
				)
			}),
			HISTORIES,
		)
	})
})
