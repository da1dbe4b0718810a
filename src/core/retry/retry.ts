import type { BoundLayer, Call } from '../engine/call.ts'
import type { CallContext, CallOptions } from '../engine/call-options.ts'
import { LeafPolicy, type Settled } from '../engine/policy.ts'
import { type Changes, NO_OPTIONS } from '../engine/policy-options.ts'
import { errorFacts } from '../events/error-facts.ts'
import type { RetryDelay } from '../explain/record.ts'
import { mergeOptions } from '../options/schema.ts'
import { RetryLayer, type RetryState } from './layer.ts'
import { type RetryOptions, readRetryOptions } from './options.ts'

/** A policy that retries a failed call with exponential backoff and jitter. `retry()` creates it. */
// biome-ignore lint/suspicious/noUnsafeDeclarationMerging: declares methods of Policy with narrower types; overriding them would add frames to every call.
export class Retry<Result = unknown> extends LeafPolicy {
	/** @internal */
	declare protected readonly layer: RetryLayer
	/** @internal */
	declare protected options: RetryOptions

	constructor(options: RetryOptions<Result> = NO_OPTIONS) {
		super('retry', options, new RetryLayer(readRetryOptions(options)))
	}

	/** Changes settings. They apply to all later decisions, including those for calls in flight. */
	update(options: Changes<RetryOptions<Result>>): void {
		const next = mergeOptions(this.options, options)
		this.layer.settings = readRetryOptions(next)
		this.options = next
	}

	/** @internal */
	protected override setListening(isListening: boolean, emitsRoutine: boolean): void {
		this.layer.observer = isListening ? (...facts) => this.#emitRetryEvent(...facts) : undefined
		this.layer.emitsRoutine = emitsRoutine
	}

	#emitRetryEvent(
		call: Call,
		bound: BoundLayer,
		{ attempt, startedAt }: RetryState,
		wait?: RetryDelay,
	): void {
		const { ok, stop = 'not-retried', value } = call
		const { maxRetries } = this.layer.settings
		const facts = ok ? {} : errorFacts(value)
		if (wait) {
			this.emit(call, bound, {
				type: 'retry_attempt',
				attempt,
				maxRetries: maxRetries === Infinity ? null : maxRetries,
				delayMs: wait.delayMs,
				delaySource: wait.source,
				outcome: call.lastAttempt?.outcome ?? 'transient',
				...facts,
			})
			return
		}
		const now = bound.runtime.now()
		// If the listener subscribed during the call, its start is unknown.
		const end = { attempts: attempt + 1, durationMs: now - (startedAt ?? firstStart(call) ?? now) }
		if (ok && call.stop === undefined) this.emit(call, bound, { type: 'retry_success', ...end })
		else this.emit(call, bound, { type: 'retry_failure', ...end, stop, ...facts })
	}
}

/**
 * An operation that returns `T`. With a `retryResult` that declares another type, an operation of that type
 * is expected instead.
 */
type OperationOf<T, Result, Args extends readonly unknown[] = []> = ((
	context: CallContext,
	...args: Args
) => T) &
	([Awaited<T>] extends [Result] ? unknown : (context: CallContext, ...args: Args) => Result)

/** `retryResult` receives the results of the operations, so these must have the type that it declares. */
export interface Retry<Result> {
	execute<T>(fn: OperationOf<T, Result>, options?: CallOptions): Promise<Awaited<T>>
	settle<T>(fn: OperationOf<T, Result>, options?: CallOptions): Promise<Settled<Awaited<T>>>
	bind<Args extends readonly unknown[], T>(
		fn: OperationOf<T, Result, Args>,
	): (...args: Args) => Promise<Awaited<T>>
}

/** Returns when the first attempt of a call that failed at least once began. */
function firstStart({ lastAttempt }: Call): number | undefined {
	let first = lastAttempt
	while (first?.previous) first = first.previous
	return first?.startedAt
}

/**
 * Creates a policy that retries a failed call, with exponential backoff and jitter.
 *
 * @example
 * const payments = pipeline(retry(presets.externalApi))
 */
export function retry<Result = unknown>(options?: RetryOptions<Result>): Retry<Result> {
	return new Retry(options)
}
