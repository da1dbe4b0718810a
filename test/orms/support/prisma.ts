import { spawnSync } from 'node:child_process'
import { join } from 'node:path'

/**
 * Generates a client as `npx prisma generate` does. The command downloads an engine that only migrations use, if no path is given for it. It
 * never starts it here, so any program will do.
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
