import type { BulkheadOptions } from '../../core/bulkhead/options.ts'
import {
	checkNames,
	checkRange,
	invalidOption,
	MAX_NUMBER,
	type OptionSchema,
	readOptions,
	readSwitchable,
} from '../../core/options/schema.ts'
import type { Runtime } from '../../core/runtime/runtime.ts'
import type { GrpcListener } from '../interceptor/grpc-interceptor.ts'

/** What is known about a call that the bulkhead has rejected. */
export interface RejectedCall {
	/** The name of the service with its package, such as `'shop.Users'`. */
	readonly service: string
	readonly method: string
	/** The number of attempts that the client has made before, as it says. */
	readonly previousAttempts: number
}

/** Options of `resilientServerInterceptor` and `resilientConnectServerInterceptor`. */
export interface GrpcServerOptions {
	/** The name in events. Default `'grpc-server'`. */
	readonly name?: string | undefined
	/**
	 * Longer deadlines of clients are capped at this, in milliseconds. Default: no limit, because calls end at
	 * their deadline, and streams may last for long.
	 */
	readonly maxDeadlineMs?: number | undefined
	/** Deadline for clients that send none, in milliseconds. Default: none. */
	readonly defaultDeadlineMs?: number | undefined
	/** Subtracted from the deadline, for sending the response, in milliseconds. Default 0. */
	readonly marginMs?: number | undefined
	/**
	 * Whether to read `grpc-previous-rpc-attempts` and `x-retry-layer`. False for servers at the edge: clients
	 * that you do not control could otherwise switch off the retries of this call, here and in the services
	 * that it calls. Default true.
	 */
	readonly trustRetryHeaders?: boolean | undefined
	/**
	 * Limits the number of concurrent calls, streams included. Default: no limit. Health checks
	 * (`grpc.health.v1.Health`) are not limited: an orchestrator would otherwise end a server because it is
	 * busy.
	 */
	readonly bulkhead?: BulkheadOptions | boolean | undefined
	/**
	 * When a client may retry a call that the bulkhead has rejected, in milliseconds. A number is varied by ±20
	 * %, so that clients do not return together; a negative number or `Infinity` forbids retries. A function
	 * returns the exact number. False: no pushback, also not after exhausted retries. Default 500.
	 */
	readonly pushbackMs?: number | ((call: RejectedCall) => number) | false | undefined
	/** Called for every event. */
	readonly onEvent?: GrpcListener | undefined
	/** The clock. Default: the system's. */
	readonly runtime?: Runtime | undefined
}

export interface GrpcServerSettings extends Omit<GrpcServerOptions, 'bulkhead'> {
	readonly bulkhead: BulkheadOptions | undefined
	readonly name: string
	readonly maxDeadlineMs: number
	readonly marginMs: number
	readonly trustRetryHeaders: boolean
	readonly pushbackMs: number | ((call: RejectedCall) => number) | false
}

const DEFAULT_NAME = 'grpc-server'
const DEFAULT_PUSHBACK_MS = 500

const SERVER_SCHEMA: OptionSchema = {
	name: 'string',
	maxDeadlineMs: [0, Infinity, Infinity],
	defaultDeadlineMs: 'any',
	marginMs: [0, MAX_NUMBER, 0],
	trustRetryHeaders: 'boolean',
	bulkhead: 'any',
	pushbackMs: 'any',
	onEvent: 'function',
	runtime: 'any',
}

/** Validates the options and fills in the defaults. `owner` is named in the error of an unknown option. */
export function readGrpcServerOptions(options: GrpcServerOptions, owner: string): GrpcServerSettings {
	checkNames(options, SERVER_SCHEMA, owner)
	const { defaultDeadlineMs, runtime, pushbackMs = DEFAULT_PUSHBACK_MS } = options
	if (defaultDeadlineMs !== undefined) checkRange('defaultDeadlineMs', defaultDeadlineMs)
	if (typeof pushbackMs !== 'function' && pushbackMs !== false && !isNumber(pushbackMs))
		invalidOption('pushbackMs', pushbackMs, 'a number, a function or false')
	if (runtime && !runtime.setTimer) invalidOption('runtime', runtime, 'a Runtime')
	const settings = readOptions<GrpcServerSettings>(options, SERVER_SCHEMA)
	const { name = DEFAULT_NAME, trustRetryHeaders = true } = options
	const bulkhead = readSwitchable('bulkhead', options.bulkhead, undefined)
	return { ...settings, name, trustRetryHeaders, pushbackMs, bulkhead }
}

const isNumber = (value: unknown): boolean => typeof value === 'number' && !Number.isNaN(value)
