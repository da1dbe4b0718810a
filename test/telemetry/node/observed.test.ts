/** Channels and event log of real policies, connected by `observe`. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { circuitBreaker, pipeline, retry } from 'yaoki'
import { logger, observe } from 'yaoki/telemetry'
import { diagnosticsChannels, eventLog } from 'yaoki/telemetry/node'
import { virtualRuntime } from 'yaoki/testing'
import { FakeClient } from '../../grpc/support/fake-caller.ts'
import { temporaryFolder } from '../../support/temporary-file.ts'
import { storingLogger } from '../logs/lines.ts'
import { readLines } from './read-log.ts'

function subscribed(name: string): object[] {
	const received: object[] = []
	const listener = (message: unknown) => received.push(message as object)
	subscribe(name, listener)
	onTestFinished(() => {
		unsubscribe(name, listener)
	})
	return received
}

const failing = () => Promise.reject(new Error('down'))

test('channels get each call once, its retries and the change of the circuit', async () => {
	const runtime = virtualRuntime()
	const payments = pipeline(
		{ name: 'shop', runtime },
		circuitBreaker({ failureThreshold: 1 }),
		retry({ maxRetries: 1, jitterStrategy: 'none' }),
	)
	const [calls, circuits] = [subscribed('yaoki:call'), subscribed('yaoki:circuit')]
	// The event log needs all events, of which the channels must not get more than without it.
	const log = eventLog({ path: join(temporaryFolder(), 'events.jsonl') })
	const stop = observe({ payments }, [diagnosticsChannels(), log])
	await payments.execute(() => 'paid')
	const failed = payments.settle(failing)
	await runtime.runUntilIdle()
	await failed
	stop()
	await log.close()
	expect(calls).toMatchObject([
		{ type: 'call', service: 'payments', outcome: 'success', attempts: 1, retries: 0 },
		{ type: 'retry_attempt', service: 'payments' },
		{ type: 'retry_failure', service: 'payments' },
		{
			type: 'call',
			service: 'payments',
			outcome: 'failure',
			attempts: 2,
			retries: 1,
			error: new Error('down'),
		},
	])
	expect(circuits).toMatchObject([{ type: 'state_change', service: 'payments', from: 'closed', to: 'open' }])
})

test('an event log gets every event, also those of routine calls, beside exporters that do not', async () => {
	const payments = pipeline({ name: 'shop' }, circuitBreaker(), retry())
	const path = join(temporaryFolder(), 'events.jsonl')
	const log = eventLog({ path })
	const { lines, target } = storingLogger()
	const stop = observe({ payments }, [logger(target), log])
	for (let call = 0; call < 200; call++) await payments.execute(() => 'paid')
	stop()
	await log.close()
	const types = readLines(path).map(({ type }) => type)
	for (const type of ['success', 'retry_success', 'call'])
		expect(types.filter((one) => one === type)).toHaveLength(200)
	expect(types).toHaveLength(600)
	expect(new Set(readLines(path).map(({ callId }) => callId)).size).toBe(200)
	expect(lines).toEqual([])
})

test('the gRPC service of an event does not overwrite the name that was passed to observe', async () => {
	const { lines, target } = storingLogger()
	const path = join(temporaryFolder(), 'events.jsonl')
	const log = eventLog({ path })
	const [calls, circuits] = [subscribed('yaoki:call'), subscribed('yaoki:circuit')]
	const client = new FakeClient({ circuitBreaker: { failureThreshold: 1 } })
	const stop = observe({ users: client.interceptor }, [logger(target), log, diagnosticsChannels()])
	client.start().attempt(1).end(14)
	await client.clock.runUntilIdle()
	stop()
	await log.close()
	const written = [...lines.map(({ fields }) => fields), ...readLines(path), ...calls, ...circuits]
	expect(written).toHaveLength(6)
	for (const line of written) expect(line).toMatchObject({ service: 'users' })
	expect(calls).toMatchObject([{ type: 'call', method: 'Chat' }])
	expect(readLines(path)).toMatchObject(Array(3).fill({ grpcService: 'yaoki.test.Users', method: 'Chat' }))
})
