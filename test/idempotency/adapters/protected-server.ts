import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { vi } from 'vitest'
import {
	type IdempotencyContext,
	type IdempotencyOptions,
	idempotency,
	memoryIdempotencyStore,
	nodeIdempotency,
} from '../../../src/idempotency/index.ts'
import { listening, userOf } from './servers.ts'

export type Handler = (
	request: IncomingMessage,
	response: ServerResponse,
	context: IdempotencyContext,
) => unknown

/** A server with the adapter. `failures` are the errors that it has written to the console. */
export async function protectedServer(handler: Handler, options: Partial<IdempotencyOptions> = {}) {
	const engine = idempotency({ store: memoryIdempotencyStore(), principal: userOf, waitMs: 0, ...options })
	const failures: unknown[] = []
	vi.spyOn(console, 'error').mockImplementation((_text, error) => failures.push(error))
	return { url: await listening(createServer(nodeIdempotency(engine, handler))), failures, engine }
}
