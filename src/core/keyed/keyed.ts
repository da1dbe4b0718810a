import type { BoundLayer, Layer } from '../engine/call.ts'
import type { CallOptions } from '../engine/call-options.ts'
import { bindLayers, DEFAULT_ENV, type UnboundLayer } from '../engine/compile.ts'
import { runInterruptibly } from '../engine/interruptible-runner.ts'
import type { LayerEnv } from '../engine/layer.ts'
import { isPolicy, Policy, type SubstituteOf } from '../engine/policy.ts'
import type { Changes } from '../engine/policy-options.ts'
import type { PolicyListener } from '../events/events.ts'
import type { EventFilter } from '../observe/observation.ts'
import { ObservedMembers } from '../observe/observed-members.ts'
import { requireSync } from '../options/hooks.ts'
import { invalidArgument, mergeOptions } from '../options/schema.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { type KeyedOptions, readKeyedOptions } from './options.ts'
import { blockOf, type Entry, Registry } from './registry.ts'

/** The policy of one key, and its bound layers for each position at which the keyed policy occurs. */
interface KeyEntry<P extends Policy<unknown>> {
	readonly policy: P
	readonly chains: WeakMap<BoundLayer, { readonly first: BoundLayer | undefined }>
}

/** What `stats` returns for a policy: its own statistics, or the statistics of the policies inside it by name. */
export type KeyStats<P extends Policy<unknown>> = P extends { readonly stats: infer Stats }
	? Stats
	: Readonly<Record<string, unknown>>

/**
 * One policy per key, such as a breaker per host or a bulkhead per tenant. `keyed()` creates it. A policy is
 * created on the first call with its key, and evicted if it is idle for too long or there are too many keys.
 * A policy whose circuit is open or isolated is not evicted.
 *
 * @example
 * const perHost = keyed(({ key }) => key ?? 'default', () => circuitBreaker())
 * await pipeline(perHost, retry()).execute(load, { key: 'api.example.com' })
 * perHost.get('api.example.com').currentState
 */
export class Keyed<P extends Policy<unknown> = Policy> extends Policy<SubstituteOf<P>> {
	readonly #registry: Registry<KeyEntry<P>>
	readonly #layer: Layer
	readonly #make: (key: string) => P
	readonly #leaves = new ObservedMembers<Policy<unknown>>(() => this.#currentLeaves())
	#options: KeyedOptions
	/** The clock of the calls: a pipeline may have provided it. */
	#runtime: Runtime

	constructor(keyOf: (call: CallOptions) => string, make: (key: string) => P, options: KeyedOptions = {}) {
		super('keyed', options)
		const { maxKeys, idleMs } = readKeyedOptions(options)
		if (typeof keyOf !== 'function') invalidArgument('keyOf', keyOf, 'a function of the call')
		if (typeof make !== 'function') invalidArgument('make', make, 'a function of the key')
		const registry = new Registry<KeyEntry<P>>(maxKeys, idleMs, {
			blockOf: ({ policy }) => blockOf(policy),
			limitName: 'maxKeys',
		})
		this.#registry = registry
		this.#runtime = this.envInside(DEFAULT_ENV).runtime
		this.#make = make
		this.#options = options
		this.#layer = {
			runner: runInterruptibly,
			enter: (call, bound) => {
				const key = requireSync('the key function', keyOf(call.options ?? {}))
				if (typeof key !== 'string') invalidArgument('keyOf(call)', key, 'a string')
				const entry = registry.acquire(key, call.now(bound.runtime), this.#createEntry)
				call.enterLayer(bound, entry)
				return call.enterFrom(boundLayersOf(entry.value, bound))
			},
			// The key's policy is not evicted before its release. An operation that still runs without its call keeps
			// it too, because the operation may hold a slot in a bulkhead.
			leave: (call, bound) => {
				const entry = call.layerState(bound) as Entry<KeyEntry<P>>
				const release = () => registry.release(entry, bound.runtime.now())
				for (const { onEnd } of call.rare?.orphans ?? []) {
					entry.uses++
					onEnd.push(release)
				}
				release()
				return 'continue'
			},
		}
	}

	/** The number of keys. */
	get size(): number {
		return this.#registry.size
	}

	keys(): MapIterator<string> {
		return this.#registry.keys()
	}

	/** Every key with its policy, in order of creation. */
	*entries(): Generator<[key: string, policy: P]> {
		for (const { key, value } of this.#registry.entries()) yield [key, value.policy]
	}

	/** Returns true if the key has a policy. */
	has(key: string): boolean {
		return this.#registry.find(key) !== undefined
	}

	/**
	 * Returns the policy of a key, created on first use. Call it again instead of storing the result: an idle
	 * policy may be evicted and replaced.
	 *
	 * @example
	 * const release = perHost.get('api.example.com').isolate()
	 */
	get(key: string): P {
		if (typeof key !== 'string') invalidArgument('key', key, 'a string')
		const registry = this.#registry
		const { policy } = registry.find(key) ?? registry.get(key, this.#runtime.now(), this.#createEntry)
		return policy
	}

	/**
	 * Returns the statistics of every key, for dashboards.
	 *
	 * @example
	 * perTenant.stats() // { 'tenant-7': { concurrent: 2, queued: 0, ... } }
	 */
	stats(): Readonly<Record<string, KeyStats<P>>> {
		return Object.fromEntries(
			[...this.entries()].map(([key, policy]) => [key, statsOf(policy) as KeyStats<P>]),
		)
	}

	/** Deletes a key. Calls in flight continue; the next call with that key gets a new policy. */
	delete(key: string): boolean {
		return this.#registry.delete(key)
	}

	/** Changes the bounds. Policies of keys within them stay. */
	update(options: Changes<KeyedOptions>): void {
		const next = mergeOptions(this.#options, options)
		const { maxKeys, idleMs } = readKeyedOptions(next)
		this.#options = next
		this.#registry.resize(maxKeys, idleMs)
	}

	/** @internal Subscribes to the policies of all keys, present and future. */
	override listen(listener: PolicyListener, filter?: EventFilter): () => void {
		return this.#leaves.observe((_, listen) => listen(listener, filter))
	}

	*#currentLeaves(): Iterable<Policy<unknown>> {
		for (const [, policy] of this.entries()) yield* policy.leaves()
	}

	/** @internal */
	override layers(env: LayerEnv): readonly UnboundLayer[] {
		const { runtime, classify } = this.envInside(env)
		// A direct call of this policy, outside its pipeline, must not replace the pipeline's clock.
		if (env !== DEFAULT_ENV) this.#runtime = runtime
		return [{ layer: this.#layer, runtime, classify }]
	}

	/** @internal Returns a new policy as a key would get it, for inspection. */
	sample(): P {
		return this.#make('sample')
	}

	readonly #createEntry = (key: string): KeyEntry<P> => {
		const policy = this.#make(key)
		if (!isPolicy(policy)) invalidArgument(`make('${key}')`, policy, 'a policy')
		policy.setKey?.(key)
		for (const leaf of policy.leaves()) this.#leaves.add(leaf)
		return { policy, chains: new WeakMap() }
	}
}

function statsOf(policy: Policy<unknown>): unknown {
	if ('stats' in policy) return typeof policy.stats === 'function' ? policy.stats() : policy.stats
	const parts = policy.leaves().filter((leaf) => leaf !== policy && 'stats' in leaf)
	return Object.fromEntries(parts.map((leaf) => [leaf.name, statsOf(leaf)]))
}

/** Returns the layers of a key's policy, followed by the rest of the pipeline. */
function boundLayersOf(
	{ policy, chains }: KeyEntry<Policy<unknown>>,
	bound: BoundLayer,
): BoundLayer | undefined {
	let chain = chains.get(bound)
	if (!chain) {
		const after: BoundLayer[] = []
		for (let { next } = bound; next; next = next.next) after.push(next)
		chain = { first: bindLayers([...policy.layers(bound), ...after], bound) }
		chains.set(bound, chain)
	}
	return chain.first
}

/**
 * Keeps one policy per key, such as a breaker per host. In a pipeline, each call runs through the policy of
 * its key.
 *
 * @example
 * const perTenant = keyed(({ key }) => key ?? 'anonymous', () => bulkhead({ maxConcurrent: 5 }))
 */
export function keyed<P extends Policy<unknown>>(
	keyOf: (call: CallOptions) => string,
	make: (key: string) => P,
	options?: KeyedOptions,
): Keyed<P> {
	return new Keyed(keyOf, make, options)
}
