import { parsePath, type ServiceConfig } from '../service-config/service-config.ts'
import type { GrpcMethod } from './rpc.ts'

/** A generic client may create any number of paths. */
const MAX_METHODS = 1_000

/** The methods by path, so that a call does not parse its path. */
export class MethodTable {
	readonly #config: ServiceConfig | undefined
	readonly #methods = new Map<string, GrpcMethod>()

	constructor(config: ServiceConfig | undefined) {
		this.#config = config
	}

	/** Returns the method of a path such as `/shop.v1.Orders/Get`. */
	get(path: string): GrpcMethod {
		const known = this.#methods.get(path)
		if (known) return known
		const created = this.#create(path)
		if (this.#methods.size >= MAX_METHODS) this.#methods.clear()
		this.#methods.set(path, created)
		return created
	}

	#create(path: string): GrpcMethod {
		const { service, method } = parsePath(path)
		const config = this.#config?.find(service, method)
		const isRepeatable = config?.retryPolicy !== undefined || config?.hedgingPolicy !== undefined
		return { path, service, method, config, isRepeatable }
	}
}
