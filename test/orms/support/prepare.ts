/** Generates the client of Prisma, before the tests that import it. */
import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'

export const HOME: string = join(import.meta.dirname, '..')
const LOWEST = process.env['YAOKI_ORMS'] === 'lowest'

export default function prepare(): void {
	rmSync(join(HOME, '.cache'), { recursive: true, force: true })
	const home = LOWEST ? join(HOME, 'lowest') : HOME
	generatePrismaClient(home, join(HOME, 'prisma', 'schema.prisma'))
}

/**
 * The command downloads an engine that only migrations use, if no path is given for it. It never starts it here, so
 * any program will do.
 */
export function generatePrismaClient(home: string, schema: string): void {
	const cli = join(home, 'node_modules', 'prisma', 'build', 'index.js')
	const env = { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: process.execPath, CHECKPOINT_DISABLE: '1' }
	const { status, stdout, stderr } = spawnSync(process.execPath, [cli, 'generate', '--schema', schema], {
		cwd: home,
		env,
		encoding: 'utf8',
	})
	if (status !== 0) throw new Error(`prisma generate failed:\n${stdout}${stderr}`)
}
