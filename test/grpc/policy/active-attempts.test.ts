import { describe, expect, test } from 'vitest'
import { ActiveAttempts } from '../../../src/grpc/policy/active-attempts.ts'

const attempt = (name: string, sentMessages: number) => ({ name, sentMessages })
const [a, b, c] = [attempt('a', 1), attempt('b', 2), attempt('c', 2)]

function setup() {
	const active = new ActiveAttempts<typeof a>()
	for (const one of [a, b, c]) active.add(one)
	return active
}

describe('the active attempts of a call', () => {
	test('are listed in the order of their start, until they are removed', () => {
		const active = setup()
		active.remove(b)
		expect(active.all).toEqual([a, c])
		active.remove(b)
		expect(active.all).toEqual([a, c])
	})

	test('are all removed, and none is left', () => {
		const active = setup()
		expect(active.removeAll()).toEqual([a, b, c])
		expect([active.all, active.removeAll()]).toEqual([[], []])
	})

	test('can be reduced to one, which returns the others', () => {
		const active = setup()
		expect(active.removeOthers(b)).toEqual([a, c])
		expect(active.all).toEqual([b])
	})

	test('can be removed while they are iterated', () => {
		const active = setup()
		const seen: string[] = []
		for (const one of active.all) {
			seen.push(one.name)
			active.remove(one)
		}
		expect([seen, active.all]).toEqual([['a', 'b', 'c'], []])
	})

	test('have the earliest attempt with the most messages as the most advanced one', () => {
		const active = setup()
		expect(active.mostAdvanced).toBe(b)
		expect(active.all).toEqual([a, b, c])
		expect(new ActiveAttempts().mostAdvanced).toBeUndefined()
	})
})
