/** Creates the context of an incoming HTTP request from its headers, and finds it again from the request. */
import { Deadline } from '../../core/deadline/deadline.ts'
import type { CallOptions } from '../../core/engine/call-options.ts'
import { inheritEnv } from '../../core/engine/compile.ts'
import type { HeaderLookup } from '../../core/headers/header-values.ts'
import { readDeadline } from '../headers/deadline-headers.ts'
import { readAttempt, readCallerRetry } from '../headers/retry-headers.ts'
import { type IncomingRequest, type NodeResponse, normalizeRequest } from './incoming-request.ts'
import {
	REQUEST_SCHEMA,
	readServerOptions,
	type ServerContext,
	type ServerContextRequestOptions,
	type ServerMiddlewareOptions,
	type ServerSettings,
} from './options.ts'
import { openCall, RequestContext } from './request-context.ts'

/** Keyed by the request and by the objects that frameworks wrap around it: frameworks replace either. */
const contexts = new WeakMap<object, ServerContext>()

/**
 * Creates the context of a request from its headers: the caller's deadline, the attempt number, and which
 * layer retries. Pass it to your policies and clients, so that they stop when the caller stops waiting.
 * Without options it returns the context that a wrapper or an earlier call has created for this request, if
 * there is one.
 *
 * @example
 * const context = createServerContext(request)
 * if (context.isExpired) return deadlineExceededResponse()
 * return policy.execute(({ signal }) => load(signal), context)
 */
export function createServerContext(
	request: IncomingRequest,
	options?: ServerContextRequestOptions,
): ServerContext {
	const known = options ? undefined : getServerContext(request)
	return known ?? openContext(request, readServerOptions(options ?? {}, REQUEST_SCHEMA), options?.response)
}

/**
 * Returns the context that middleware such as `expressServerContext` has created for this request, or
 * undefined. Policies accept both as call options.
 *
 * @example
 * app.get('/users/:id', async (req, res) => {
 *   res.json(await policy.execute(({ signal }) => loadUser(req.params.id, signal), getServerContext(req)))
 * })
 */
export function getServerContext(request: IncomingRequest): ServerContext | undefined {
	for (const key of normalizeRequest(request).objects) {
		const context = contexts.get(key)
		if (context) return context
	}
	return undefined
}

/** Creates the context of a request and stores it for `getServerContext`. */
export function openContext(
	given: IncomingRequest,
	settings: ServerSettings,
	response?: NodeResponse,
): ServerContext {
	const { headers, objects, disconnectSignal } = normalizeRequest(given)
	const { trustRetryHeaders } = settings
	const nested = trustRetryHeaders ? readCallerRetry(headers) : undefined
	const options: CallOptions = {
		deadline: deadlineOf(headers, settings),
		// A getter, because most requests are answered before anything reads the signal.
		get signal() {
			return disconnectSignal(response, () => context.end())
		},
	}
	const call = openCall(options, nested, inheritEnv({ runtime: settings.runtime }))
	const context = new RequestContext(call, trustRetryHeaders ? readAttempt(headers) : 0)
	for (const key of objects) contexts.set(key, context)
	return context
}

function deadlineOf(headers: HeaderLookup, settings: ServerSettings): Deadline | undefined {
	const { deadlineHeaders, maxDeadlineMs, defaultDeadlineMs, marginMs, runtime } = settings
	const givenMs = readDeadline(headers, deadlineHeaders) ?? defaultDeadlineMs
	if (givenMs === undefined) return undefined
	return Deadline.after(Math.max(0, Math.min(givenMs, maxDeadlineMs) - marginMs), { runtime })
}

/** Frameworks ignore an error that is falsy, and Express also the texts 'route' and 'router'. */
const toError = (thrown: unknown): Error =>
	Object(thrown) === thrown ? (thrown as Error) : new Error('run failed without an error', { cause: thrown })

/**
 * Calls `next` inside the context. An error of `run` goes to the error handler of the framework, also if
 * `run` is an async function: otherwise its rejection would end the process.
 */
export function runNext(
	run: ServerMiddlewareOptions['run'],
	context: ServerContext,
	next: (error?: Error) => void,
): void {
	if (run)
		new Promise((resolve) => resolve(run<unknown>(context, () => next()))).catch((thrown) =>
			next(toError(thrown)),
		)
	else next()
}
