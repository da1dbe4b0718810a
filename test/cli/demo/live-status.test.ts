import { describe, expect, test } from 'vitest'
import { virtualRuntime } from 'yaoki/testing'
import { type DemoStatus, LiveStatus } from '../../../src/cli/demo/live-status.ts'
import { Receiver } from '../../../src/cli/demo/receiver.ts'
import type { RelayProcess } from '../../../src/cli/demo/relay-process.ts'
import { PLAIN } from '../../../src/text/style.ts'

function create(canRedraw: boolean, columns = 100) {
	const runtime = virtualRuntime()
	const notes: string[] = []
	const io = { note: (text: string) => void notes.push(text), style: PLAIN, columns, runtime }
	const receiver = new Receiver(runtime)
	receiver.orders.set('a', 1)
	const counts = { sent: 7, failed: 1, circuit: 'open' }
	const relays = [{ name: 'relay-1', state: 'running', counts }] as unknown as readonly RelayProcess[]
	const status: DemoStatus = { committed: 1200, receiver, relays, phase: 'producing orders' }
	return { runtime, notes, live: new LiveStatus(io, canRedraw), status, receiver }
}

describe('in a log', () => {
	test('it is a line per second without escape codes', async () => {
		const { runtime, notes, live, status, receiver } = create(false)
		live.follow(() => status)
		receiver.outages.add('scheduled')
		await runtime.advance(2000)
		live.print('the receiver goes down')
		live.end()
		await runtime.advance(5000)
		expect(notes).toHaveLength(4)
		expect(notes[0]).toBe(
			'  0.0 s  committed 1,200, received 1, pending 1,199; status 500: 0, 429: 0, 422: 0, hung: 0, outage: 0; duplicates rejected 0',
		)
		expect(notes[2]).toContain('(down now)')
		expect(notes[3]).toBe('  2.0 s  the receiver goes down')
		expect(notes.join('')).not.toContain('\x1b')
	})
})

test('the clock starts with the demo, not with the first order', async () => {
	const { runtime, notes, live, status } = create(false)
	await runtime.advance(300)
	live.print('relay-1 is process 7')
	live.follow(() => status)
	live.end()
	expect(notes.map((line) => line.slice(0, 7))).toEqual(['  0.3 s', '  0.3 s'])
})

describe('on a terminal', () => {
	test('it draws over itself and erases itself at the end', async () => {
		const { runtime, notes, live, status } = create(true)
		live.follow(() => status)
		await runtime.advance(100)
		live.end()
		expect(notes[0]).toMatch(/^ {2}0\.0 s {2}committed 1,200/)
		expect(notes[0]?.split('\n')).toHaveLength(4)
		expect(notes[0]).toContain('relay-1 running: sent 7, failed 1, circuit open')
		expect(notes[1]?.startsWith('\x1b[4A\x1b[J  0.1 s')).toBe(true)
		expect(notes[2]).toBe('\x1b[4A\x1b[J')
	})

	test('a printed line stays above it, and lines of other parts are not overwritten', () => {
		const { notes, live, status } = create(true)
		live.follow(() => status)
		live.print('the receiver goes down')
		expect(notes.at(-1)).toBe('\x1b[4A\x1b[J  0.0 s  the receiver goes down')
		live.print('and is back')
		expect(notes.at(-1)).toBe('  0.0 s  and is back')
		live.follow(() => status)
		live.forget()
		live.print('interrupted')
		expect(notes.at(-1)).toBe('  0.0 s  interrupted')
	})

	test('a narrow terminal shows the same in more lines', async () => {
		const { runtime, notes, live, status } = create(true, 50)
		live.follow(() => status)
		const lines = notes[0]?.split('\n') ?? []
		for (const line of lines) expect(line.length).toBeLessThan(50)
		expect(notes[0]?.replace(/\s+/g, ' ')).toContain('outage: 0; duplicates rejected 0 relay-1 running')
		await runtime.advance(100)
		expect(notes[1]?.startsWith(`\x1b[${lines.length}A\x1b[J`)).toBe(true)
	})

	test('no line is as wide as the terminal, because a wrapped line cannot be erased', () => {
		const { notes, live, status } = create(true, 40)
		live.follow(() => status)
		for (const line of notes[0]?.split('\n') ?? []) expect(line.length).toBeLessThan(40)
	})
})
