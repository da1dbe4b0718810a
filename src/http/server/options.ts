import {
	checkNames,
	checkRange,
	invalidOption,
	MAX_NUMBER,
	type OptionSchema,
	readOptions,
} from '../../core/options/schema.ts'
import type { Runtime } from '../../core/runtime/runtime.ts'
import {
	type DeadlineHeader,
	deadlineHeaderNames,
	isDeadlineHeader,
	RECEIVED_DEADLINES,
} from '../headers/deadline-headers.ts'
import type { NodeResponse } from './disconnect.ts'
import type { ServerContext } from './request-context.ts'

/** How much of what a caller says is believed. */
export interface ServerContextOptions {
	/** Which headers may carry the deadline; the least of them counts. Default: ours, gRPC's, Connect's and the one that Envoy adds. */
	readonly deadlineHeaders?: readonly DeadlineHeader[] | undefined
	/** No caller may ask for more than this. Default 60,000. */
	readonly maxDeadlineMs?: number | undefined
	/** For callers that name no deadline. Default: none. */
	readonly defaultDeadlineMs?: number | undefined
	/** What is kept back of the deadline, for the way of the answer. Default 0. */
	readonly marginMs?: number | undefined
	/** Time. Default: the system's. */
	readonly runtime?: Runtime | undefined
}

/** The same for a request that is handed over by itself. */
export interface ServerContextRequestOptions extends ServerContextOptions {
	/**
	 * Node's response to this request: it tells when the client has gone away. Without it the connection does, which may be
	 * lost after the answer as well.
	 */
	readonly response?: NodeResponse | undefined
}

/** The same for a handler or a framework. */
export interface ServerMiddlewareOptions extends ServerContextOptions {
	/**
	 * Called around the rest of the request, such as `withContext` of `yaoki/node`, which makes ambient policies part of it.
	 * Default: nothing is put around it.
	 */
	readonly run?: (<T>(context: ServerContext, next: () => T) => T) | undefined
}

export interface ServerSettings {
	readonly deadlineHeaders: readonly DeadlineHeader[]
	readonly maxDeadlineMs: number
	readonly defaultDeadlineMs: number | undefined
	readonly marginMs: number
	readonly runtime: Runtime | undefined
}

const SERVER_RULES: OptionSchema = {
	deadlineHeaders: 'any',
	maxDeadlineMs: [0, MAX_NUMBER, 60_000],
	defaultDeadlineMs: 'any',
	marginMs: [0, MAX_NUMBER, 0],
	runtime: 'any',
}

export const REQUEST_RULES: OptionSchema = { ...SERVER_RULES, response: 'any' }

export const MIDDLEWARE_RULES: OptionSchema = { ...SERVER_RULES, run: 'function' }

export function readServerOptions(options: ServerContextRequestOptions, rules: OptionSchema): ServerSettings {
	checkNames(options, rules)
	const { deadlineHeaders = RECEIVED_DEADLINES, defaultDeadlineMs, runtime, response } = options
	if (!Array.isArray(deadlineHeaders))
		invalidOption('deadlineHeaders', deadlineHeaders, 'a list of header names')
	for (const name of deadlineHeaders)
		if (!isDeadlineHeader(name)) invalidOption('deadlineHeaders', name, `any of ${deadlineHeaderNames()}`)
	if (defaultDeadlineMs !== undefined) checkRange('defaultDeadlineMs', defaultDeadlineMs)
	if (response && !response.once) invalidOption('response', response, "Node's ServerResponse")
	if (runtime && !runtime.setTimer) invalidOption('runtime', runtime, 'a Runtime')
	return { ...readOptions<ServerSettings>(options, rules), deadlineHeaders }
}
