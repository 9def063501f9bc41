import type { FaultKind, FaultRequest } from './engine';

// The mistakes that can be made on purpose, in words.
export const faults: Record<FaultKind, string> = {
  flip_sign: 'turns the sign',
  drop_cotangent: 'forgets the gradient',
  skip_accumulation: 'overwrites instead of adding',
  forget_unbroadcast: 'forgets to sum what was broadcast',
};
export const faultKinds = Object.keys(faults) as FaultKind[];
export const faultName = ({ op, kind }: FaultRequest): string => `${op} ${faults[kind]}`;
