/** `yaoki/node`: deadlines, signals and attempts that travel in Node's async context. */
export { ambient, currentContext, withContext } from './ambient.ts'
