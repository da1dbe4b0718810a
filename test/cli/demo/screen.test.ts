import { describe, expect, test } from 'vitest'
import { virtualRuntime } from 'yaoki/testing'
import { Receiver } from '../../../src/cli/demo/receiver.ts'
import type { RelayProcess } from '../../../src/cli/demo/relay-process.ts'
import { type Scene, Screen } from '../../../src/cli/demo/screen.ts'
import { createStyle } from '../../../src/cli/style.ts'

function stage(isWatched: boolean, columns = 100) {
	const runtime = virtualRuntime()
	const told: string[] = []
	const io = { note: (text: string) => void told.push(text), style: createStyle(false), columns, runtime }
	const receiver = new Receiver(runtime)
	receiver.orders.set('a', 1)
	const counts = { sent: 7, failed: 1, gate: 'open' }
	const relays = [{ name: 'relay-1', state: 'running', counts }] as unknown as readonly RelayProcess[]
	const scene: Scene = { committed: 1200, rolledBack: 3, receiver, relays, doing: 'orders come in' }
	return { runtime, told, screen: new Screen(io, isWatched), scene, receiver }
}

describe('where nobody watches', () => {
	test('it is a line a second, without anything that a log could not show', async () => {
		const { runtime, told, screen, scene, receiver } = stage(false)
		screen.follow(() => scene)
		receiver.isDown = true
		await runtime.advance(2000)
		screen.say('the receiver goes down')
		screen.end()
		await runtime.advance(5000)
		expect(told).toHaveLength(4)
		expect(told[0]).toBe(
			'  0.0 s  committed 1,200, received 1, under way 1,199; 500s 0, 429s 0, hung 0, in the outage 0; duplicates refused 0',
		)
		expect(told[2]).toContain('(down now)')
		expect(told[3]).toBe('  2.0 s  the receiver goes down')
		expect(told.join('')).not.toContain('\x1b')
	})
})

test('the clock does not go back when the first order comes: "0.3 s" stood above "0.0 s"', async () => {
	const { runtime, told, screen, scene } = stage(false)
	await runtime.advance(300)
	screen.say('relay-1 is process 7')
	screen.follow(() => scene)
	screen.end()
	expect(told.map((line) => line.slice(0, 7))).toEqual(['  0.3 s', '  0.3 s'])
})

describe('where somebody watches', () => {
	test('it is drawn over itself, and gone at the end', async () => {
		const { runtime, told, screen, scene } = stage(true)
		screen.follow(() => scene)
		await runtime.advance(100)
		screen.end()
		expect(told[0]).toMatch(/^ {2}0\.0 s {2}committed 1,200/)
		expect(told[0]?.split('\n')).toHaveLength(4)
		expect(told[0]).toContain('relay-1 running: sent 7, failed 1, breaker open')
		expect(told[1]?.startsWith('\x1b[4A\x1b[J  0.1 s')).toBe(true)
		expect(told[2]).toBe('\x1b[4A\x1b[J')
	})

	test('a line that stays stands above it, and what others wrote is not drawn over', () => {
		const { told, screen, scene } = stage(true)
		screen.follow(() => scene)
		screen.say('the receiver goes down')
		expect(told.at(-1)).toBe('\x1b[4A\x1b[J  0.0 s  the receiver goes down')
		screen.say('and is back')
		expect(told.at(-1)).toBe('  0.0 s  and is back')
		screen.follow(() => scene)
		screen.forget()
		screen.say('interrupted')
		expect(told.at(-1)).toBe('  0.0 s  interrupted')
	})

	test('a narrow window shows the same in more lines: at 50 columns the receiver was cut', async () => {
		const { runtime, told, screen, scene } = stage(true, 50)
		screen.follow(() => scene)
		const lines = told[0]?.split('\n') ?? []
		for (const line of lines) expect(line.length).toBeLessThan(50)
		expect(told[0]?.replace(/\s+/g, ' ')).toContain('in the outage 0; duplicates refused 0 relay-1 running')
		await runtime.advance(100)
		expect(told[1]?.startsWith(`\x1b[${lines.length}A\x1b[J`)).toBe(true)
	})

	test('no line is as wide as the window, for one that wraps can not be drawn over', () => {
		const { told, screen, scene } = stage(true, 40)
		screen.follow(() => scene)
		for (const line of told[0]?.split('\n') ?? []) expect(line.length).toBeLessThan(40)
	})
})
