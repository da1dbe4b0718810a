import type { CallContext } from '../../core/engine/call-options.ts'
import { readPolicyOptions } from '../../core/engine/policy-options.ts'
import { checkRange, invalidOption, MAX_NUMBER, type OptionSchema } from '../../core/options/schema.ts'
import type { Runtime } from '../../core/runtime/runtime.ts'
import {
	type DeadlineHeader,
	deadlineHeaderNames,
	isDeadlineHeader,
	RECEIVED_DEADLINES,
} from '../headers/deadline-headers.ts'
import type { NodeResponse } from './incoming-request.ts'

/**
 * The context of an incoming request, which `getServerContext` and `createServerContext` return. Pass it as
 * call options, or as their `parent`: policies then observe the caller's deadline, and only one of the nested
 * layers retries.
 */
export interface ServerContext extends CallContext {
	/** True if the caller's deadline has expired: the caller no longer waits for the response. */
	readonly isExpired: boolean
	/** True if a retry inside this request has exhausted its retries. Failed responses report it. */
	readonly retriesExhausted: boolean
	/**
	 * Ends the context after the response: its signal is no longer aborted, and its timer is released. The
	 * wrappers call it. Without it the timer lasts until the deadline.
	 */
	end(): void
}

/**
 * Limits for the deadline that a caller sends, for `createServerContext`, `expressServerContext` and the
 * other wrappers.
 */
export interface ServerContextOptions {
	/**
	 * Headers that may carry the deadline; the shortest one counts. Default: those of Yaoki, gRPC and Connect,
	 * and the one that Envoy adds.
	 */
	readonly deadlineHeaders?: readonly DeadlineHeader[] | undefined
	/** Longer deadlines are capped at this, in milliseconds. Default 60,000. */
	readonly maxDeadlineMs?: number | undefined
	/** Deadline for callers that send none, in milliseconds. Default: none. */
	readonly defaultDeadlineMs?: number | undefined
	/** Subtracted from the deadline, for sending the response, in milliseconds. Default 0. */
	readonly marginMs?: number | undefined
	/**
	 * Whether to read `x-retry-attempt` and `x-retry-layer`. False for servers at the edge: clients that you do
	 * not control could otherwise switch off the retries of this request, here and in the services that it
	 * calls. Default true.
	 */
	readonly trustRetryHeaders?: boolean | undefined
	/** The clock. Default: the system's. */
	readonly runtime?: Runtime | undefined
}

/** Options of `createServerContext`. */
export interface ServerContextRequestOptions extends ServerContextOptions {
	/**
	 * Node's response to this request, to detect that the client disconnects. Without it, the connection is
	 * observed, which is less reliable: it may also close after the response.
	 */
	readonly response?: NodeResponse | undefined
}

/**
 * Options of `expressServerContext`, `fastifyServerContext`, `honoServerContext`, `nodeServerContext` and
 * `fetchServerContext`.
 */
export interface ServerMiddlewareOptions extends ServerContextOptions {
	/**
	 * Runs the rest of the request inside the context, such as `runWithContext` of `yaoki/node`, which ambient
	 * policies use. Default: calls `next` directly.
	 */
	readonly run?: (<T>(context: ServerContext, next: () => T) => T) | undefined
}

export interface ServerSettings extends ServerContextOptions {
	readonly deadlineHeaders: readonly DeadlineHeader[]
	readonly maxDeadlineMs: number
	readonly marginMs: number
	readonly trustRetryHeaders: boolean
}

const SERVER_SCHEMA: OptionSchema = {
	deadlineHeaders: 'any',
	maxDeadlineMs: [0, MAX_NUMBER, 60_000],
	defaultDeadlineMs: 'any',
	marginMs: [0, MAX_NUMBER, 0],
	trustRetryHeaders: 'boolean',
	runtime: 'any',
}

export const REQUEST_SCHEMA: OptionSchema = { ...SERVER_SCHEMA, response: 'any' }

export const MIDDLEWARE_SCHEMA: OptionSchema = { ...SERVER_SCHEMA, run: 'function' }

export function readServerOptions(
	options: ServerContextRequestOptions,
	schema: OptionSchema,
): ServerSettings {
	const settings = readPolicyOptions<ServerSettings>(options, 'server context', schema)
	const { deadlineHeaders = RECEIVED_DEADLINES, trustRetryHeaders = true } = settings
	const { defaultDeadlineMs, response } = options
	if (!Array.isArray(deadlineHeaders))
		invalidOption('deadlineHeaders', deadlineHeaders, 'an array of header names')
	for (const name of deadlineHeaders)
		if (!isDeadlineHeader(name)) invalidOption('deadlineHeaders', name, `one of ${deadlineHeaderNames()}`)
	if (defaultDeadlineMs !== undefined) checkRange('defaultDeadlineMs', defaultDeadlineMs)
	if (response && !response.once) invalidOption('response', response, "Node's ServerResponse")
	return { ...settings, deadlineHeaders, trustRetryHeaders }
}
