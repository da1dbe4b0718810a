import { createServer } from 'node:http'
import { expect, onTestFinished, test } from 'vitest'
import { StockCalls } from '../../../src/cli/demo/stock-calls.ts'
import { systemRuntime } from '../../../src/core/runtime/system.ts'
import { eventually } from '../../support/eventually.ts'
import { listen } from '../../support/listen.ts'

test('the circuit opens when the receiver is down, closes when it is back, and no call is left at the end', async () => {
	let isDown = true
	const server = createServer((_request, response) => {
		if (isDown) response.destroy()
		else response.end('in stock')
	})
	const port = await listen(server)
	onTestFinished(() => {
		server.close()
		server.closeAllConnections()
	})
	const calls = new StockCalls({ timeoutMs: 10_000, breakerMs: 20 }, systemRuntime)
	const states: string[] = []
	calls.policy.subscribe((event) => {
		if (event.type === 'state_change') states.push(event.to)
	})
	const end = new AbortController()
	const running = calls.run(`http://127.0.0.1:${port}/stock`, end.signal)
	await eventually(() => expect(states).toContain('open'))
	isDown = false
	await eventually(() => expect(states.at(-1)).toBe('closed'))
	end.abort()
	await running
	server.closeAllConnections()
	const open = await new Promise((resolve) => server.getConnections((_error, count) => resolve(count)))
	expect(open).toBe(0)
})
