/**
 * Returns a registry that notices when objects are no longer used, or undefined if the runtime has none: Cloudflare Workers with a compatibility
 * date before 2025-05-05. Call it on first use, because a module must load there too.
 */
export const createRegistry = <T>(onCollected: (held: T) => void): FinalizationRegistry<T> | undefined =>
	typeof FinalizationRegistry === 'function' ? new FinalizationRegistry(onCollected) : undefined
