import { startPostgres } from '/work/wt/servers/test/support/real-postgres.ts'
import { writeFileSync } from 'node:fs'
const p = await startPostgres()
const { user, password, host, port, database } = p.connection
writeFileSync('/tmp/pgurl', `postgres://${user}:${password}@${host}:${port}/${database}`)
console.log('up', process.pid)
process.once('SIGTERM', async () => { await p[Symbol.asyncDispose](); process.exit(0) })
setInterval(() => {}, 1e6)
