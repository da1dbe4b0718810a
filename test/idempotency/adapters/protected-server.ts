import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
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

/** A server with the adapter. `failures` are what the returned promise rejected with. */
export async function protectedServer(handler: Handler, options: Partial<IdempotencyOptions> = {}) {
	const engine = idempotency({ store: memoryIdempotencyStore(), principal: userOf, ...options })
	const failures: unknown[] = []
	const handle = nodeIdempotency(engine, handler)
	const listener: RequestListener = (request, response) => {
		handle(request, response).catch((error) => {
			failures.push(error)
			response.destroy()
		})
	}
	return { url: await listening(createServer(listener)), failures, engine }
}
