/** The process that the figures belong to. */
import { builtinModule } from '../../sql/node-modules.ts'

interface System {
	hostname(): string
}

interface Global {
	readonly process?: { readonly pid?: number }
}

export const hostAndPid = (): { readonly host: string; readonly pid: number } => ({
	host: builtinModule<System>('node:os')?.hostname() ?? '',
	pid: (globalThis as Global).process?.pid ?? 0,
})
