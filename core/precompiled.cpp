// No code: of this file unhurried targets have core/precompiled.hpp, parsed at their level of
// optimisation.
