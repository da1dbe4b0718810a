import { describe, expect, test, vi } from 'vitest'
import type { CircuitState } from 'yaoki'
import { exceptCalls } from '../../support/scenario.ts'
import { calls, never, sensitive, setup } from './setup.ts'

describe('onStateChange', () => {
	const watched = (options: object = {}) => {
		const changes: string[] = []
		const onStateChange = (from: CircuitState, to: CircuitState) => changes.push(`${from} -> ${to}`)
		return { changes, ...setup({ ...sensitive, onStateChange, ...options }) }
	}

	test('is called for every change', async () => {
		const { changes, breaker, clock } = watched()
		await calls(breaker, 'sf')
		await calls(breaker, 'ss')
		await clock.advance(1_000)
		await calls(breaker, 'f')
		await clock.advance(1_000)
		await calls(breaker, 's')
		expect(changes).toEqual([
			'closed -> open',
			'open -> half-open',
			'half-open -> open',
			'open -> half-open',
			'half-open -> closed',
		])
	})

	test('is called once per change, however many listeners come and go', async () => {
		const { changes, breaker } = watched({ onEvent: () => {} })
		const ends = [breaker.subscribe(() => {}), breaker.subscribe(() => {})]
		await calls(breaker, 'f')
		for (const end of ends) end()
		breaker.reset()
		expect(changes).toEqual(['closed -> open', 'open -> closed'])
	})

	test('is called for what an operator does', () => {
		const { changes, breaker } = watched()
		const release = breaker.isolate()
		release()
		expect(changes).toEqual(['closed -> isolated', 'isolated -> closed'])
	})

	test('may call the breaker, which is in its new state by then', async () => {
		const seen: unknown[] = []
		const { breaker } = setup({
			...sensitive,
			onStateChange: (_, to) => {
				seen.push([to, breaker.currentState])
				if (to === 'open') breaker.reset()
			},
		})
		await calls(breaker, 'f')
		expect(seen).toEqual([
			['open', 'open'],
			['closed', 'closed'],
		])
		expect(breaker.currentState).toBe('closed')
	})

	test('replaced by update is called from then on', async () => {
		const { changes, breaker } = watched()
		const later = vi.fn()
		breaker.update({ onStateChange: later })
		await calls(breaker, 'f')
		expect(changes).toEqual([])
		expect(later.mock.calls).toEqual([['closed', 'open', { policy: 'circuitBreaker', key: undefined }]])
	})

	test('replaced by update does not affect listeners', async () => {
		const { breaker } = setup(sensitive)
		const types: string[] = []
		breaker.subscribe(exceptCalls(({ type }) => types.push(type)))
		breaker.update({ onStateChange: () => types.push('hook') })
		await calls(breaker, 'f')
		expect(types).toEqual(['failure', 'state_change', 'hook'])
	})

	test('is called for a hung probe on the next access', async () => {
		const { changes, breaker, clock } = watched({ probeTimeoutMs: 500 })
		await calls(breaker, 'f')
		await clock.advance(1_000)
		void breaker.execute(never)
		await clock.advance(500)
		expect(changes).toHaveLength(2)
		expect(breaker.currentState).toBe('open')
		expect(changes.at(-1)).toBe('half-open -> open')
	})
})
