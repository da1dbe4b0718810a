import { EventEmitter } from 'node:events'
import { describe, expect, test } from 'vitest'
import { virtualRuntime } from 'yaoki/testing'
import { processTerminal } from '../../src/cli/terminal.ts'

class FakeStream extends EventEmitter {
	isTTY?: boolean
	columns?: number
	readonly written: string[] = []
	/** The result of the next write. */
	writeError: Error | undefined

	write(text: string, done?: (error?: Error | null) => void): boolean {
		this.written.push(text)
		done?.(this.writeError)
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

describe('processTerminal', () => {
	test('reports the current width, and 80 if it is unknown', () => {
		const { process, terminal } = started()
		expect(terminal.stdout.columns).toBe(80)
		process.stdout.columns = 120
		expect(terminal.stdout.columns).toBe(120)
		process.stdout.columns = 0
		expect(terminal.stdout.columns).toBe(80)
	})

	test('reports isTTY of the stream', () => {
		const { process, terminal } = started()
		expect(terminal.stderr.isTTY).toBe(false)
		process.stderr.isTTY = true
		expect(terminal.stderr.isTTY).toBe(true)
		expect(terminal.env['HOME']).toBe('here')
	})

	test('reports one interrupt and leaves the second to the system', () => {
		const { process, terminal } = started()
		const { count, events } = counted()
		terminal.listen(events)
		expect(process.listenerCount('SIGINT')).toBe(1)
		process.emit('SIGINT')
		expect(count).toEqual({ interrupted: 1, closed: 0 })
		expect(process.listenerCount('SIGINT')).toBe(0)
	})

	test('still writes to standard output after process.stdout.write was replaced', async () => {
		const { process, terminal } = started()
		process.stdout.write = process.stderr.write.bind(process.stderr)
		terminal.stdout.write('result')
		process.stdout.write('note')
		await terminal.flush()
		expect(process.stdout.written).toEqual(['result', ''])
		expect(process.stderr.written).toEqual(['note', ''])
	})

	test('removes its listeners', () => {
		const { process, terminal } = started()
		const { count, events } = counted()
		terminal.listen(events)()
		process.emit('SIGINT')
		process.stdout.emit('error', failed('EPIPE'))
		expect(process.listenerCount('SIGINT')).toBe(0)
		expect(count).toEqual({ interrupted: 0, closed: 0 })
	})
})

describe('a failing output', () => {
	test('a failing output is reported once, and nothing more is written to it', async () => {
		const { process, terminal } = started()
		const { count, events } = counted()
		terminal.listen(events)
		process.stdout.emit('error', failed('EPIPE'))
		process.stdout.emit('error', failed('EPIPE'))
		terminal.stdout.write('lost')
		expect(count).toEqual({ interrupted: 0, closed: 1 })
		expect(process.stdout.written).toEqual([])
	})

	test('a failing output is not an error if its reader closed it', async () => {
		const { process, terminal } = started()
		process.stdout.emit('error', failed('EPIPE'))
		expect(await terminal.flush()).toBeUndefined()
	})

	test('a failing output is an error for another reason', async () => {
		const { process, terminal } = started()
		process.stdout.emit('error', failed('ENOSPC'))
		expect(await terminal.flush()).toMatchObject({ code: 'ENOSPC' })
	})

	test('a failing output is detected by the last write if the error event comes later', async () => {
		const { process, terminal } = started()
		process.stdout.writeError = failed('ENOSPC')
		expect(await terminal.flush()).toMatchObject({ code: 'ENOSPC' })
		process.stdout.writeError = failed('EPIPE')
		expect(await terminal.flush()).toBeUndefined()
		process.stdout.writeError = undefined
		expect(await terminal.flush()).toBeUndefined()
	})

	test('a failing standard error does not end a command', () => {
		const { process, terminal } = started()
		const { count, events } = counted()
		terminal.listen(events)
		process.stderr.emit('error', failed('EPIPE'))
		terminal.stderr.write('lost')
		terminal.stdout.write('written')
		expect(count.closed).toBe(0)
		expect(process.stdout.written).toEqual(['written'])
		expect(process.stderr.written).toEqual([])
	})
})
