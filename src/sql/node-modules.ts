interface Global {
	readonly process?: { getBuiltinModule?(name: string): unknown }
}

/** Returns a module of Node without importing it, because this folder must run without Node; undefined where there is none. */
export const builtinModule = <Module>(name: `node:${string}`): Module | undefined =>
	(globalThis as Global).process?.getBuiltinModule?.(name) as Module | undefined
