import { EventEmitter } from 'node:events'
import { describe, expect, test } from 'vitest'
import { virtualRuntime } from 'yaoki/testing'
import { processTerminal } from '../../src/cli/process-terminal.ts'

class FakeStream extends EventEmitter {
	isTTY?: boolean
	columns?: number
	readonly written: string[] = []
	/** What the next write comes to. */
	fault: Error | undefined

	write(text: string, done?: (error?: Error | null) => void): boolean {
		this.written.push(text)
		done?.(this.fault)
		return true
	}
}

class FakeProcess extends EventEmitter {
	readonly stdout = new FakeStream()
	readonly stderr = new FakeStream()
	readonly env = { HOME: 'here' }
}

const failed = (code: string): Error => Object.assign(new Error(`write ${code}`), { code })

const started = () => {
	const process = new FakeProcess()
	return { process, terminal: processTerminal(process, virtualRuntime()) }
}

const counted = () => {
	const count = { interrupted: 0, closed: 0 }
	return {
		count,
		events: { interrupted: () => void count.interrupted++, closed: () => void count.closed++ },
	}
}

describe('the terminal of a process', () => {
	test('is as wide as its window at present, and 80 where nobody knows', () => {
		const { process, terminal } = started()
		expect(terminal.stdout.columns).toBe(80)
		process.stdout.columns = 120
		expect(terminal.stdout.columns).toBe(120)
		process.stdout.columns = 0
		expect(terminal.stdout.columns).toBe(80)
	})

	test('is none where Node does not say so', () => {
		const { process, terminal } = started()
		expect(terminal.stderr.isTTY).toBe(false)
		process.stderr.isTTY = true
		expect(terminal.stderr.isTTY).toBe(true)
		expect(terminal.env['HOME']).toBe('here')
	})

	test('tells one interrupt, and leaves the second to the system', () => {
		const { process, terminal } = started()
		const { count, events } = counted()
		terminal.listen(events)
		expect(process.listenerCount('SIGINT')).toBe(1)
		process.emit('SIGINT')
		expect(count).toEqual({ interrupted: 1, closed: 0 })
		expect(process.listenerCount('SIGINT')).toBe(0)
	})

	test('keeps its way to standard output when something else is put in its place', async () => {
		const { process, terminal } = started()
		process.stdout.write = process.stderr.write.bind(process.stderr)
		terminal.stdout.write('answer')
		process.stdout.write('talk')
		await terminal.written()
		expect(process.stdout.written).toEqual(['answer', ''])
		expect(process.stderr.written).toEqual(['talk', ''])
	})

	test('leaves no handler behind', () => {
		const { process, terminal } = started()
		const { count, events } = counted()
		terminal.listen(events)()
		process.emit('SIGINT')
		process.stdout.emit('error', failed('EPIPE'))
		expect(process.listenerCount('SIGINT')).toBe(0)
		expect(count).toEqual({ interrupted: 0, closed: 0 })
	})
})

describe('an output that fails', () => {
	test('is told once, and nothing more is written there', async () => {
		const { process, terminal } = started()
		const { count, events } = counted()
		terminal.listen(events)
		process.stdout.emit('error', failed('EPIPE'))
		process.stdout.emit('error', failed('EPIPE'))
		terminal.stdout.write('lost')
		expect(count).toEqual({ interrupted: 0, closed: 1 })
		expect(process.stdout.written).toEqual([])
	})

	test('because its reader has gone has lost nothing that anybody wanted', async () => {
		const { process, terminal } = started()
		process.stdout.emit('error', failed('EPIPE'))
		expect(await terminal.written()).toBeUndefined()
	})

	test('for another reason has', async () => {
		const { process, terminal } = started()
		process.stdout.emit('error', failed('ENOSPC'))
		expect(await terminal.written()).toMatchObject({ code: 'ENOSPC' })
	})

	test('is also known by the last write, where the event comes later', async () => {
		const { process, terminal } = started()
		process.stdout.fault = failed('ENOSPC')
		expect(await terminal.written()).toMatchObject({ code: 'ENOSPC' })
		process.stdout.fault = failed('EPIPE')
		expect(await terminal.written()).toBeUndefined()
		process.stdout.fault = undefined
		expect(await terminal.written()).toBeUndefined()
	})

	test('does not end a command when it is only that for talk', () => {
		const { process, terminal } = started()
		const { count, events } = counted()
		terminal.listen(events)
		process.stderr.emit('error', failed('EPIPE'))
		terminal.stderr.write('lost')
		terminal.stdout.write('kept')
		expect(count.closed).toBe(0)
		expect(process.stdout.written).toEqual(['kept'])
		expect(process.stderr.written).toEqual([])
	})
})
