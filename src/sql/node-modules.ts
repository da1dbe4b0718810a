interface Global {
	readonly process?: { getBuiltinModule?(name: string): unknown }
}

/** Returns a module of Node without importing it, so that this floor runs anywhere; undefined where there is none. */
export const builtinModule = <Module>(name: `node:${string}`): Module | undefined =>
	(globalThis as Global).process?.getBuiltinModule?.(name) as Module | undefined
